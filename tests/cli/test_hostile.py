"""Tables and models that mean harm, or look as if: a clear answer, no code run, no partial file."""

import json
import pickle
import zipfile

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
    negcorr("predict", here / "out/model.skops", tmp_path / "odd.csv", "--out", "made.csv")
    assert pd.read_csv(here / "made.csv").columns.tolist() == [f"{name}_predicted"]
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


def test_a_model_whose_columns_hold_something_else_now(negcorr, here, tmp_path):
    fitted(negcorr, write_homes(tmp_path / "homes.csv"), "price", "-q")
    homes().assign(size="big").to_csv(tmp_path / "other.csv", index=False)
    result = negcorr("predict", here / "out/model.skops", tmp_path / "other.csv", "-o", "made.csv")
    assert result.code == 1
    assert "'size'" in result.complaint()
    assert "'big'" in result.complaint()
    assert not (here / "made.csv").exists()
