"""``negcorr predict``, ``evaluate`` and ``report``: stored models and tables."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from models import ncl
from toy_tables import QUICK, homes, write_homes

import negcorr as package


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A model of two targets, and the table it was fitted to."""
    from negcorr.cli import main

    home = tmp_path_factory.mktemp("stored")
    data = write_homes(home / "homes.csv")
    arguments = ["fit", data, "-t", "price,rent", *QUICK, "-o", home, "-q"]
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert left.value.code == 0
    return home / "model.skops"


@pytest.fixture
def new(tmp_path):
    return write_homes(tmp_path / "new.csv", n=25, seed=7)


def in_python(stored, data):
    model = package.load(stored)
    return model.predict(pd.read_csv(data)[list(model.feature_names_in_)])


def columns_of(text):
    rows = list(csv.reader(text.splitlines()))
    return {name: [row[j] for row in rows[1:]] for j, name in enumerate(rows[0])}


def test_numbers_in_text_are_those_of_python_to_the_last_bit(negcorr, stored, new):
    result = negcorr("predict", stored, new)
    assert (result.code, result.err) == (0, "")
    shown = columns_of(result.out)
    assert list(shown) == ["price_predicted", "rent_predicted"]
    expected = in_python(stored, new)
    np.testing.assert_array_equal([float(v) for v in shown["price_predicted"]], expected[:, 0])
    np.testing.assert_array_equal([float(v) for v in shown["rent_predicted"]], expected[:, 1])


def test_intervals_members_and_kept_columns(negcorr, stored, new):
    result = negcorr("predict", stored, new, "--interval", 0.8, "--members", "--keep", "size,kind")
    shown = columns_of(result.out)
    assert list(shown)[:8] == [
        *("size", "kind", "price_predicted", "rent_predicted"),
        *("price_lower", "price_upper", "rent_lower", "rent_upper"),
    ]
    assert len(shown) == 8 + 2 * 8
    values = {name: np.array(v, dtype=float) for name, v in shown.items() if "_" in name}
    assert (values["price_lower"] < values["price_predicted"]).all()
    assert (values["price_predicted"] < values["price_upper"]).all()
    members = np.mean([values[f"rent_member_{m}"] for m in range(8)], axis=0)
    np.testing.assert_allclose(members, values["rent_predicted"], rtol=1e-9)
    model = package.load(stored)
    ends = model.predict_interval(pd.read_csv(new)[list(model.feature_names_in_)], 0.8)
    np.testing.assert_array_equal(values["price_lower"], ends[:, 0, 0])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather", "arrow"])
def test_formats_of_files(negcorr, stored, new, tmp_path, ending):
    out = tmp_path / "made" / f"out.{ending}"
    result = negcorr("predict", stored, new, "--out", out, "--keep", "all")
    assert (result.code, result.err) == (0, "")
    assert "Wrote 25 predictions" in result.out
    assert [file.name for file in out.parent.iterdir()] == [out.name]
    frame = package.reading.read_table(out).frame
    assert list(frame.columns) == [*homes().columns, "price_predicted", "rent_predicted"]
    np.testing.assert_array_equal(frame["price_predicted"], in_python(stored, new)[:, 0])


def test_json(negcorr, stored, new, tmp_path):
    rows = json.loads(negcorr("predict", stored, new, "--json", "--keep", "kind").out)
    assert len(rows) == 25
    assert set(rows[0]) == {"kind", "price_predicted", "rent_predicted"}
    told = negcorr("predict", stored, new, "--json", "--out", tmp_path / "x.csv").out
    assert json.loads(told) == {"rows": 25, "out": str(tmp_path / "x.csv")}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--interval", 1.5], 2, "--interval 1.5: must be between 0 and 1."),
        (["--out", "../new.csv"], 2, "--out ../new.csv is DATA, which it would replace."),
        (["--out", "x.txt"], 2, "--out x.txt: allowed endings are .csv"),
        (["--keep", "sise"], 1, "--keep='sise' is no column; did you mean 'size'?"),
    ],
)
def test_requests_that_make_no_sense(negcorr, stored, new, tmp_path, arguments, code, words):
    result = negcorr("predict", stored, new, *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in result.complaint()
    assert list((tmp_path / "here").iterdir()) == []


def test_arguments_that_are_swapped_and_folders(negcorr, stored, new):
    result = negcorr("predict", new, stored)
    assert result.code == 2
    assert f"the model comes first, then the data: negcorr predict {stored}" in result.complaint()
    by_folder = negcorr("predict", stored.parent, new)
    assert (by_folder.code, by_folder.out) == (0, negcorr("predict", stored, new).out)


def test_columns_that_are_missing_are_named(negcorr, stored, new, tmp_path):
    frame = pd.read_csv(new).drop(columns=["size", "kind"])
    frame.to_csv(tmp_path / "less.csv", index=False)
    result = negcorr("predict", stored, tmp_path / "less.csv", "--out", "out.csv")
    assert result.code == 1
    assert "less.csv lacks the columns 'size', 'kind' that the model" in result.complaint()
    assert list((tmp_path / "here").iterdir()) == []


def test_targets_need_not_be_there(negcorr, stored, new, tmp_path):
    frame = pd.read_csv(new)
    frame.drop(columns=["price", "rent"]).iloc[:, ::-1].to_csv(tmp_path / "n.csv", index=False)
    assert negcorr("predict", stored, tmp_path / "n.csv").out == negcorr("predict", stored, new).out


def test_no_rows_and_unknown_levels(negcorr, stored, new, tmp_path):
    frame = pd.read_csv(new)
    frame.head(0).to_csv(tmp_path / "none.csv", index=False)
    result = negcorr("predict", stored, tmp_path / "none.csv", "-q")
    assert result.code == 1
    assert "has no row to predict" in result.complaint()
    frame.assign(kind="castle").to_csv(tmp_path / "castle.csv", index=False)
    result = negcorr("predict", stored, tmp_path / "castle.csv")
    assert result.code == 0
    assert len(result.out.splitlines()) == 26
    assert "note: some rows have levels that no row of the fit had (25 in kind)" in result.err


def test_rows_unlike_those_of_the_fit_are_counted(negcorr, stored, new, tmp_path):
    frame = pd.read_csv(new)
    frame.loc[:2, "size"] = 1e6
    frame.loc[3:4, "built"] = np.nan
    frame.to_csv(tmp_path / "odd.csv", index=False)
    result = negcorr("predict", stored, tmp_path / "odd.csv")
    assert result.code == 0
    assert "some rows have values outside the range of those of the fit (3 in size)" in result.err
    assert negcorr("predict", stored, stored.parent / "homes.csv").err == ""


def test_ctrl_c_leaves_no_file(negcorr, stored, new, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("negcorr.cli.predicting.predictions", interrupt)
    assert negcorr("predict", stored, new, "--out", "out.csv").code == 130
    assert list((tmp_path / "here").iterdir()) == []


def _only(path, frame):
    frame.to_csv(path, index=False)
    return path


def test_models_saved_in_python(negcorr, new, tmp_path):
    frame = pd.read_csv(new)
    frame["size"] = frame["size"].fillna(0.0)
    inputs = frame[["size", "rent"]]
    named = ncl(5, 4).fit(inputs, frame["price"])
    bare = ncl(5, 4).fit(inputs.to_numpy(), frame["price"])
    frame.to_csv(tmp_path / "all.csv", index=False)
    inputs.to_csv(tmp_path / "two.csv", index=False)
    package.save(named, tmp_path / "named.skops")
    package.save(bare, tmp_path / "bare.skops")
    by_name = negcorr("predict", tmp_path / "named.skops", tmp_path / "all.csv")
    by_place = negcorr("predict", tmp_path / "bare.skops", tmp_path / "two.csv")
    assert by_name.code == by_place.code == 0
    shown = [float(v) for v in columns_of(by_name.out)["y_predicted"]]
    np.testing.assert_array_equal(shown, named.predict(inputs))
    assert by_place.out == by_name.out
    wrong = negcorr("predict", tmp_path / "bare.skops", tmp_path / "all.csv")
    assert "the table has 5 columns, and the model" in wrong.complaint()
    gaps = write_homes(tmp_path / "gaps.csv")
    filled = negcorr("predict", tmp_path / "named.skops", gaps)
    assert filled.code == 0
    assert "have gaps where no row of the fit had any (1 in size)" in filled.err
    homes()[["size", "rent"]].to_csv(tmp_path / "two.csv", index=False)
    by_place = negcorr("predict", tmp_path / "bare.skops", tmp_path / "two.csv")
    assert by_place.code == 0
    lacks = negcorr(
        "predict", tmp_path / "named.skops", _only(tmp_path / "one.csv", frame[["kind"]])
    )
    assert "the table lacks the columns 'size', 'rent'" in lacks.complaint()
    untold = negcorr("evaluate", tmp_path / "named.skops", tmp_path / "all.csv")
    assert untold.code == 2
    assert "does not say which columns are targets" in untold.complaint()


def test_figures_on_new_rows(negcorr, stored, new):
    result = negcorr("evaluate", stored, new, "--json")
    assert (result.code, result.err) == (0, "")
    told = json.loads(result.out)
    assert (told["n_rows"], told["warning"]) == (25, None)
    frame = pd.read_csv(new)
    error = in_python(stored, new)[:, 0] - frame["price"]
    assert told["figures"][0]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
    shown = negcorr("evaluate", stored, new)
    assert "new.csv: 25 rows" in shown.out
    assert "±" in shown.out


def test_rows_of_the_fit_are_found_out(negcorr, stored, tmp_path):
    result = negcorr("evaluate", stored, stored.parent / "homes.csv")
    assert "note: All of these rows are among those that the model was fitted to" in result.err
    both = pd.concat([homes().tail(30).iloc[::-1], homes(n=30, seed=5)])
    both.to_csv(tmp_path / "both.csv", index=False)
    told = json.loads(negcorr("evaluate", stored, tmp_path / "both.csv", "--json").out)
    assert told["warning"].startswith("About 50% of these rows")


def test_rows_need_targets(negcorr, stored, new, tmp_path):
    pd.read_csv(new).assign(price=np.nan).to_csv(tmp_path / "none.csv", index=False)
    result = negcorr("evaluate", stored, tmp_path / "none.csv", "-q")
    assert result.code == 1
    assert "0 rows of none.csv have their targets" in result.complaint()
    pd.read_csv(new).drop(columns="price").to_csv(tmp_path / "gone.csv", index=False)
    complaint = negcorr("evaluate", stored, tmp_path / "gone.csv").complaint()
    assert "gone.csv lacks the column 'price' to compare; the columns are" in complaint
    pd.read_csv(new).rename(columns={"size": "Size"}).to_csv(tmp_path / "case.csv", index=False)
    complaint = negcorr("evaluate", stored, tmp_path / "case.csv").complaint()
    assert "lacks the column 'size' that the model predicts from; did you mean 'Size'?" in complaint


def test_the_page_again_with_and_without_rows(negcorr, stored, new, tmp_path):
    result = negcorr("report", stored)
    assert (result.code, result.out) == (0, "Wrote report.html.\n")
    alone = (tmp_path / "here/report.html").read_text(encoding="utf-8")
    told = json.loads(negcorr("report", stored, new, "-o", "new.html", "--json").out)
    assert told == {"report": "new.html"}
    page = (tmp_path / "here/new.html").read_text(encoding="utf-8")
    assert len(page) > len(alone)
    assert "homes.csv: price, rent</h1>" in alone
    assert "homes.csv: price, rent, on new.csv</h1>" in page
    assert "class='verdict'" in alone
    assert "class='verdict'" not in page
    again = negcorr("report", stored, stored.parent / "homes.csv", "-o", "seen.html")
    assert "figures on them are too good" in again.err
    assert "figures on them are too good" in (tmp_path / "here/seen.html").read_text(
        encoding="utf-8"
    )
    assert negcorr("report", stored, "--out", "page.txt").code == 2


def test_models_that_cannot_be_reported(negcorr, tmp_path):
    from sklearn.linear_model import Ridge

    package.save(Ridge().fit(np.eye(3), np.arange(3.0)), tmp_path / "ridge.skops")
    result = negcorr("report", tmp_path / "ridge.skops")
    assert result.code == 2
    assert "must be an NCLRegressor" in result.complaint()


def test_a_reader_that_has_enough_hears_no_complaint(stored, tmp_path):
    many = pd.concat([homes(n=1000, seed=seed) for seed in range(20)])
    many.to_csv(tmp_path / "many.csv", index=False)
    command = [sys.executable, "-m", "negcorr", "predict", stored, tmp_path / "many.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"price_predicted,rent_predicted\n"
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


@pytest.fixture
def in_pieces(monkeypatch):
    """Every file counts as large, and is read a few rows at a time."""
    for module in ("loaded_model", "evaluating"):
        monkeypatch.setattr(f"negcorr.cli.{module}.is_large", lambda path: True)
    monkeypatch.setattr("negcorr.reading.table_chunks.BLOCK_ROWS", 7)
    monkeypatch.setattr("negcorr.reading.table_chunks.BLOCK_CELLS", 0)


@pytest.fixture
def long_table(tmp_path):
    return write_homes(tmp_path / "long.csv", n=2500, seed=11)


def test_pieces_give_what_the_whole_gives(negcorr, stored, long_table, request):
    asked = ("predict", stored, long_table, "--interval", 0.9, "--keep", "all")
    whole = negcorr(*asked)
    figures = json.loads(negcorr("evaluate", stored, long_table, "--json").out)
    request.getfixturevalue("in_pieces")
    pieces = negcorr(*asked)
    assert pieces.code == 0
    one, two = columns_of(whole.out), columns_of(pieces.out)
    assert list(one) == list(two)
    assert one["kind"] == two["kind"]
    for name in ("size", "price_predicted", "rent_lower"):
        values = [np.array([float(v or "nan") for v in each[name]]) for each in (one, two)]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-6)
    again = json.loads(negcorr("evaluate", stored, long_table, "--json").out)
    assert again["n_rows"] == figures["n_rows"] == 2500
    for key in ("rmse", "rmse_se", "mae", "r2", "coverage"):
        assert again["figures"][0][key] == pytest.approx(figures["figures"][0][key], rel=1e-9)


def test_pieces_of_rows_of_the_fit_are_found_out(negcorr, stored, in_pieces):
    result = negcorr("evaluate", stored, stored.parent / "homes.csv")
    assert "All of these rows are among those" in result.err
    shown = negcorr("report", stored, stored.parent / "homes.csv")
    assert "a sample of 120 of its rows is shown" in shown.err


@pytest.mark.parametrize("large", [False, True])
def test_a_cell_far_down_is_named_with_its_row(
    negcorr, stored, long_table, tmp_path, large, request
):
    if large:
        request.getfixturevalue("in_pieces")
    frame = pd.read_csv(long_table)
    frame["size"] = frame["size"].astype(object)
    frame.loc[2345, "size"] = "big"
    frame.to_csv(long_table, index=False)
    result = negcorr("predict", stored, long_table, "--out", "out.csv", "-q")
    assert result.code == 1
    assert "row 2346" in result.complaint()
    assert "'big'" in result.complaint()
    assert list((tmp_path / "here").iterdir()) == []
