"""Tables and models that mean harm, or look as if: a clear answer, no code run, no partial file."""

import csv
import json
import os
import pickle
import shlex
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_tables import QUICK, homes, write_homes

IMAGE = "<img src=x onerror=alert(1)>"
ODD_NAMES = [
    IMAGE,
    'she said "hello"',
    "a, b",
    "two\nlines",
    "🙂 emoji",
    "[red]markup[/red]",
    "\x1b[31mescape",
    "</script><script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "{{7*7}}",
    " ",
]


def refused(result, home, *words, code=1):
    """One line that helps, and nothing left behind."""
    assert result.code == code
    complaint = result.complaint()
    for word in words:
        assert word in complaint
    assert len(complaint) < 1000
    assert result.out == ""
    assert sorted(home.iterdir()) == []


@pytest.fixture
def here(tmp_path):
    return tmp_path / "here"


def fitted(negcorr, data, target, *options):
    result = negcorr("fit", data, "--target", target, *QUICK, "--out", "out", *options)
    assert result.code == 0, result.err
    return result


@pytest.mark.parametrize("name", ODD_NAMES[:-1])
def test_odd_names_of_inputs_and_targets(negcorr, here, tmp_path, name):
    frame = homes().rename(columns={"size": name})
    frame.to_csv(tmp_path / "odd.csv", index=False)
    result = fitted(negcorr, tmp_path / "odd.csv", "price")
    assert "\x1b" not in result.out + result.err
    page = (here / "out/report.html").read_text(encoding="utf-8")
    assert IMAGE not in page
    assert "<script>alert(1)" not in page
    metrics = json.loads((here / "out/metrics.json").read_text(encoding="utf-8"))
    assert name in metrics["inputs"]
    assert len(negcorr("predict", here / "out/model.skops", tmp_path / "odd.csv").out) > 100
    frame = homes().rename(columns={"price": name})
    frame.to_csv(tmp_path / "odd.csv", index=False)
    result = fitted(negcorr, tmp_path / "odd.csv", name)
    assert "\x1b" not in result.out + result.err
    page = (here / "out/report.html").read_text(encoding="utf-8")
    assert IMAGE not in page
    predict = ("predict", here / "out/model.skops", tmp_path / "odd.csv", "--out", "made.csv")
    negcorr(*predict, "--raw")
    assert pd.read_csv(here / "made.csv").columns.tolist() == [f"{name}_predicted"]
    negcorr(*predict)
    (shown,) = pd.read_csv(here / "made.csv").columns
    assert shown.removeprefix("'").replace("\\x1b", "\x1b") == f"{name}_predicted"
    assert shown[0] != "="
    assert "\x1b" not in shown
    told = negcorr("evaluate", here / "out/model.skops", tmp_path / "odd.csv", "--json")
    assert json.loads(told.out)["figures"][0]["output"] == name


def test_values_that_look_like_markup(negcorr, here, tmp_path):
    frame = homes()
    frame["kind"] = np.where(frame["kind"] == "flat", IMAGE, "[bold]b[/bold]")
    frame.to_csv(tmp_path / "odd.csv", index=False)
    fitted(negcorr, tmp_path / "odd.csv", "price")
    assert IMAGE not in (here / "out/report.html").read_text(encoding="utf-8")


def test_a_million_characters_in_a_cell(negcorr, here, tmp_path):
    frame = homes()
    frame.loc[5, "kind"] = "x" * 10**6
    frame["remark"] = [f"{'y' * 10**4} {row}" for row in range(len(frame))]
    frame.to_csv(tmp_path / "long.csv", index=False)
    result = fitted(negcorr, tmp_path / "long.csv", "price", "--verbose")
    assert len(result.out + result.err) < 10_000
    assert (here / "out/report.html").stat().st_size < 1_000_000
    assert (here / "out/model.skops").stat().st_size < 5_000_000
    assert negcorr("predict", here / "out/model.skops", tmp_path / "long.csv").code == 0


def test_a_million_characters_in_a_name(negcorr, here, tmp_path):
    homes().rename(columns={"size": "s" * 10**6}).to_csv(tmp_path / "long.csv", index=False)
    result = negcorr("fit", tmp_path / "long.csv", "-t", "price", *QUICK, "--out", "out")
    assert len(result.out + result.err) < 10_000


def test_names_that_repeat(negcorr, here, tmp_path):
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,3\n4,5,6\n", encoding="utf-8")
    refused(negcorr("fit", tmp_path / "twice.csv", "-t", "y"), here, "'a'")


def test_a_target_with_gaps_loses_those_rows_and_says_so(negcorr, here, tmp_path):
    frame = homes()
    frame.loc[:9, "price"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    result = fitted(negcorr, tmp_path / "gaps.csv", "price")
    assert "10 in price" in result.out
    assert "rows left out" in result.out
    assert "all 110 rows" in result.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,5\n2,5\n3,5\n4,5\n5,5\n", "nothing to predict"),
        ("x,y\n", "no row"),
        ("", "empty"),
        ("x,y\n1,\n2,\n3,\n", "has no values"),
        ("x,y\n1,a\n2,b\n3,c\n", "must hold numbers"),
        ("x,y\n1,2\n3,4\n", "2 rows"),
        ("y\n1\n2\n3\n4\n5\n", "no column is left to predict from"),
    ],
)
def test_tables_that_nothing_can_be_learnt_from(negcorr, here, tmp_path, text, words):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    refused(negcorr("fit", tmp_path / "x.csv", "-t", "y", "-q"), here, words)


def test_latin_1_is_read_and_told(negcorr, here, tmp_path):
    text = homes().assign(kind=lambda f: f["kind"] + "é").to_csv(index=False)
    (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
    result = fitted(negcorr, tmp_path / "latin.csv", "price")
    assert "note:" in result.err
    assert "kind" in result.out


def test_a_zip_under_another_name(negcorr, here, tmp_path):
    with zipfile.ZipFile(tmp_path / "table.csv", "w") as archive:
        archive.writestr("homes.csv", homes().to_csv(index=False))
    fitted(negcorr, tmp_path / "table.csv", "price")
    for file in (here / "out").iterdir():
        file.unlink()
    (here / "out").rmdir()
    with zipfile.ZipFile(tmp_path / "other.csv", "w") as archive:
        archive.writestr("a.bin", bytes(range(256)) * 20)
        archive.writestr("b.bin", b"\0" * 100)
    refused(negcorr("fit", tmp_path / "other.csv", "-t", "y"), here, "other.csv")


@pytest.mark.parametrize("content", [b"\0\1\2\3" * 200, b"\x89PNG\r\n\x1a\n" + bytes(200)])
def test_files_that_are_no_tables(negcorr, here, tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    refused(negcorr("fit", tmp_path / "x.csv", "-t", "y"), here, "x.csv")


@pytest.mark.parametrize("command", ["fit", "dof"])
def test_files_that_are_not_there(negcorr, here, tmp_path, command):
    refused(negcorr(command, tmp_path / "none.csv", "-t", "y"), here, "none.csv")
    refused(negcorr(command, tmp_path, "-t", "y"), here, tmp_path.name)


class Exploit:
    """Writes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
@pytest.mark.parametrize("inside", ["pickle", "zip"])
def test_a_model_with_a_pickle_inside_runs_nothing(negcorr, here, tmp_path, command, inside):
    mark = tmp_path / "ran"
    harm = pickle.dumps(Exploit(mark))
    model = tmp_path / "model.skops"
    if inside == "pickle":
        model.write_bytes(harm)
    else:
        schema = {"__class__": "open", "__module__": "io", "__loader__": "ObjectNode"}
        with zipfile.ZipFile(model, "w") as archive:
            archive.writestr("schema.json", json.dumps(schema))
            archive.writestr("model.pkl", harm)
    refused(negcorr(command, model, write_homes(tmp_path / "homes.csv")), here, "model.skops")
    assert not mark.exists()


def test_a_table_is_no_model_and_a_model_no_table(negcorr, here, tmp_path):
    data = write_homes(tmp_path / "homes.csv")
    refused(negcorr("predict", data, data), here, "homes.csv")
    fitted(negcorr, data, "price", "-q")
    model = here / "out/model.skops"
    result = negcorr("predict", model, model, "--out", "made.csv")
    assert result.code == 1
    assert not (here / "made.csv").exists()


FORMULAS = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "a\x1b[31m", "＝1"]
HARMLESS = ["-3.5", "+2e5", "-1,5", "-", "word", "a=1"]


def test_kept_cells_are_no_formulas(negcorr, here, tmp_path):
    data = write_homes(tmp_path / "homes.csv")
    fitted(negcorr, data, "price", "-q")
    cells = FORMULAS + HARMLESS
    rows = homes().iloc[: len(cells)].assign(**{"@id": cells})
    rows.to_csv(tmp_path / "new.csv", index=False, quoting=csv.QUOTE_ALL)
    ask = ("predict", here / "out/model.skops", tmp_path / "new.csv", "--keep", "@id", "--out")
    assert negcorr(*ask, "made.csv").code == 0
    made = pd.read_csv(here / "made.csv", dtype=str, keep_default_na=False)
    assert made.columns[0] == "'@id"
    escaped = [f"'{cell}" for cell in FORMULAS]
    escaped[5], escaped[6] = "'\\r=1", "a\\x1b[31m"
    assert made["'@id"].tolist() == escaped + HARMLESS
    assert "\x1b" not in negcorr(*ask[:-1]).out
    assert negcorr(*ask, "raw.csv", "--raw").code == 0
    raw = pd.read_csv(here / "raw.csv", dtype=str, keep_default_na=False, lineterminator="\n")
    assert raw["@id"].tolist()[:5] == cells[:5]
    assert "\x1b" in (here / "raw.csv").read_text(encoding="utf-8")


def test_an_error_shows_no_control_characters(negcorr, here):
    complaint = negcorr("fit", "no\x1b[31m\nsuch.csv", "-t", "y").complaint()
    assert "no\\x1b[31m\\nsuch.csv does not exist" in complaint


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
@pytest.mark.parametrize(
    ("scale", "words"), [(1e200, "y has values above 1e+140"), (1e-200, "y varies by less than")]
)
def test_targets_beyond_squares(negcorr, here, tmp_path, scale, words, how):
    frame = homes()
    frame["price"] *= scale
    frame.to_csv(tmp_path / "far.csv", index=False)
    refused(negcorr("fit", tmp_path / "far.csv", "-t", "price", "-q", *QUICK, how), here, words)


def test_four_rows_that_cannot_be_split(negcorr, here, tmp_path):
    (tmp_path / "x.csv").write_text("x,z,y\n1,,2\n2,,3\n3,,5\n4,7,7\n", encoding="utf-8")
    for how in ("--stream", "--no-stream"):
        refused(
            negcorr("fit", tmp_path / "x.csv", "-t", "y", "-q", *QUICK, how), here, "x.csv: all"
        )


def test_a_long_cell_takes_no_more_for_other_rows(negcorr, here, tmp_path):
    """One cell of four million characters beside a hundred short ones is held once."""
    data = write_homes(tmp_path / "homes.csv")
    fitted(negcorr, data, "price", "-q")
    frame = homes()
    frame.loc[5, "kind"] = "x" * 4_000_000
    frame.to_csv(tmp_path / "long.csv", index=False)
    tracemalloc.start()
    try:
        assert negcorr("predict", here / "out/model.skops", tmp_path / "long.csv").code == 0
        assert tracemalloc.get_traced_memory()[1] < 3 * 10**8
    finally:
        tracemalloc.stop()


def test_a_model_whose_columns_hold_something_else_now(negcorr, here, tmp_path):
    fitted(negcorr, write_homes(tmp_path / "homes.csv"), "price", "-q")
    homes().assign(size="big").to_csv(tmp_path / "other.csv", index=False)
    result = negcorr("predict", here / "out/model.skops", tmp_path / "other.csv", "-o", "made.csv")
    assert result.code == 1
    assert "'size'" in result.complaint()
    assert "'big'" in result.complaint()
    assert not (here / "made.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes in POSIX only")
def test_names_of_files_that_are_no_text(tmp_path):
    table, out = os.fsencode(tmp_path) + b"/\xff.csv", os.fsencode(tmp_path) + b"/out\xfe"
    write_homes(tmp_path / "homes.csv")
    os.rename(tmp_path / "homes.csv", table)
    words = [table, "--target", "price", *map(str, QUICK), "--rivals", "none", "--out", out]
    done = subprocess.run(
        [sys.executable, "-m", "negcorr", "fit", *words], capture_output=True, check=False
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    metrics = json.loads(Path(os.fsdecode(out + b"/metrics.json")).read_text(encoding="utf-8"))
    assert "\udcff.csv" in json.dumps(metrics, ensure_ascii=False)


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the output")
def test_an_output_that_is_closed_is_no_fault(tmp_path):
    write_homes(tmp_path / "homes.csv")
    words = f"fit homes.csv --target price {' '.join(map(str, QUICK))} --rivals none --out out"
    line = f"{shlex.quote(sys.executable)} -m negcorr {words}"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            f"{line} {closed}", shell=True, cwd=tmp_path, capture_output=True, check=False
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
