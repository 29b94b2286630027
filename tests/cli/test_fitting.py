"""``negcorr fit``: what it reads, says and writes."""

import csv
import json
import math
import os
import shutil
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from models import deep_ncl
from toy_tables import QUICK, homes, write_homes

import negcorr as package
from negcorr._common.files import in_use
from negcorr._common.threads import stop_if_abandoned, worker_threads
from negcorr.bases import FourierFeatures
from negcorr.reading.schema import Schema
from negcorr.storage.save_load import describe

FILES = ["metrics.json", "model.skops", "path.csv", "report.html"]


def names_in(folder):
    return sorted(file.name for file in folder.iterdir())


def strict_json(text):
    """JSON proper, which knows no NaN."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def data(tmp_path):
    return write_homes(tmp_path / "homes.csv")


def test_four_files_and_a_verdict_as_the_last_line(negcorr, data, tmp_path):
    result = negcorr("fit", data, "--target", "price", "--drop", "rent", *QUICK, "-o", "out")
    assert (result.code, result.err) == (0, "")
    out = tmp_path / "here" / "out"
    assert names_in(out) == FILES
    lines = result.out.rstrip().splitlines()
    metrics = strict_json((out / "metrics.json").read_text(encoding="utf-8"))
    assert lines[-1] == metrics["verdict"]
    assert lines[0] == "homes.csv: 120 rows, 5 columns"
    words = " ".join(result.out.split())
    assert "numbers size categories kind dates built target price" in words
    assert "cells missing 1 in size" in words
    assert "On 24 rows held out, in units of price:" in words
    assert "saved model, fitted to all 120 rows: λ =" in words
    assert "for the figures, 96 rows: λ =" in words
    assert "left out rent (as asked)" in words
    assert "degrees of freedom" in words
    for method in ("NCL", "mean", "ridge"):
        assert any(line.strip().startswith(method) for line in lines)


def test_the_folder_is_named_after_the_data(negcorr, tmp_path):
    homes().to_csv(tmp_path / "my.homes.csv.gz", index=False)
    assert negcorr("fit", tmp_path / "my.homes.csv.gz", "-t", "price", *QUICK, "-q").code == 0
    assert names_in(tmp_path / "here" / "my.homes-negcorr") == FILES


def test_metrics_are_those_of_python(negcorr, data, tmp_path):
    negcorr("fit", data, "-t", "price", "--drop", "rent", *QUICK, "-o", "out", "--seed", 3)
    metrics = strict_json((tmp_path / "here/out/metrics.json").read_text(encoding="utf-8"))
    frame = package.reading.read_table(data).frame
    schema = package.tables.infer_columns(frame, "price", drop=["rent"])
    parameters = {"basis": FourierFeatures(8, 5)}
    trial = package.tables.try_out(
        frame, schema, seed=3, baselines=["mean", "ridge"], parameters=parameters
    )
    ours = trial.comparison["NCL"].figures[0]
    stored = metrics["methods"][0]["figures"][0]
    assert stored["rmse"] == ours.rmse
    assert stored["rmse_se"] == ours.rmse_se
    assert metrics["methods"][1]["figures"][0]["coverage"] is None
    assert metrics["model"]["lam"] == trial.model.lam_
    assert metrics["model"]["dof"] == trial.model.dof_
    assert metrics["model"]["n_rows"] == 120
    assert metrics["tried"]["lam"] == trial.tried.lam_
    assert metrics["held_out"] == {"n_train": 96, "n_train_of_rivals": 96, "n_test": 24}
    assert metrics["inputs"] == ["size", "kind", "built"]
    loaded = package.load(tmp_path / "here/out/model.skops")
    inputs = frame[list(loaded.feature_names_in_)]
    np.testing.assert_array_equal(loaded.predict(inputs), trial.model.predict(inputs))


def test_the_path_is_the_models(negcorr, data, tmp_path):
    negcorr("fit", data, "-t", "price", *QUICK, "-o", "out", "-q")
    out = tmp_path / "here/out"
    with (out / "path.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    path = package.load(out / "model.skops").path_
    gaps = np.array([float(row["gap"]) for row in rows])
    assert gaps[0] == 1.0
    assert path.gap in gaps
    dof = np.array([float(row["dof"]) for row in rows])
    np.testing.assert_allclose(dof, path.dof(gap=gaps), rtol=1e-12)
    assert {"train_error", "member_error", "diversity", "gcv", "kfold"} <= set(rows[0])


def test_several_targets(negcorr, data, tmp_path):
    result = negcorr("fit", data, "--target", "price,rent", *QUICK, "-o", "out")
    assert result.code == 0
    words = " ".join(result.out.split())
    assert "targets price, rent" in words
    assert "Best other" in words
    assert "RMSE in standard deviations" in words
    header = (tmp_path / "here/out/path.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "kfold_price,kfold_rent" in header
    again = negcorr("fit", data, "-t", "price", "-t", "rent", *QUICK, "-o", "two", "--json")
    assert strict_json(again.out)["targets"] == ["price", "rent"]


def test_json_is_all_that_machines_see(negcorr, data, tmp_path):
    result = negcorr("fit", data, "-t", "price", *QUICK, "-o", "out", "--json")
    assert (result.code, result.err) == (0, "")
    shown = strict_json(result.out)
    stored = strict_json((tmp_path / "here/out/metrics.json").read_text(encoding="utf-8"))
    assert [file.rsplit("/")[-1] for file in shown.pop("files")] == [
        "model.skops",
        "report.html",
        "metrics.json",
        "path.csv",
    ]
    assert shown == stored


def test_quiet_and_verbose(negcorr, data):
    result = negcorr("fit", data, "-t", "price", *QUICK, "-q")
    assert (result.code, result.out, result.err) == (0, "", "")
    result = negcorr("fit", data, "-t", "price", *QUICK, "-v")
    assert "fitting NCL to all rows" in result.err
    assert "missing  distinct  remark" in result.out
    assert negcorr("fit", data, "-t", "price", "-q", "-v").code == 2


def test_a_second_file_is_tested_on(negcorr, data, tmp_path):
    other = write_homes(tmp_path / "other.csv", n=40, seed=1)
    result = negcorr("fit", data, "-t", "price", *QUICK, "--test", other, "-o", "out")
    assert result.code == 0
    assert "On 40 rows of the second file, in units of price:" in result.out
    assert "saved model, 120 rows:" in result.out
    assert result.err == ""
    metrics = strict_json((tmp_path / "here/out/metrics.json").read_text(encoding="utf-8"))
    assert metrics["model"] | {"refitted": None} == metrics["tried"] | {
        "n_rows": 120,
        "refitted": None,
    }


@pytest.mark.parametrize(
    ("option", "role"), [("--group", "group"), ("--weights", "weights"), ("--time", "time")]
)
def test_columns_with_a_part_of_their_own(negcorr, tmp_path, option, role):
    frame = homes().assign(mine=np.repeat(np.arange(1, 13), 10))
    frame.to_csv(tmp_path / "homes.csv", index=False)
    result = negcorr("fit", tmp_path / "homes.csv", "-t", "price", *QUICK, option, "mine", "--json")
    assert result.code == 0
    metrics = strict_json(result.out)
    assert "mine" not in metrics["inputs"]
    assert {c["name"]: c["role"] for c in metrics["columns"]}["mine"] == role
    assert f"{option} mine" in metrics["command"]


def test_categories_may_be_numbers(negcorr, tmp_path):
    frame = homes().assign(zone=np.arange(120) % 4)
    frame.to_csv(tmp_path / "homes.csv", index=False)
    arguments = ["fit", tmp_path / "homes.csv", "-t", "price", *QUICK, "--categorical", "zone"]
    roles = {
        column["name"]: column["role"]
        for column in strict_json(negcorr(*arguments, "--json").out)["columns"]
    }
    assert roles["zone"] == "category"


@pytest.mark.parametrize(
    "column",
    [{}, {"time": "built"}, {"group": "kind"}, {"weights": "times", "categorical": ["size"]}],
)
def test_the_report_rebuilds_the_model(negcorr, tmp_path, monkeypatch, column):
    from negcorr.cli.fit_options import FitOptions
    from negcorr.cli.fitting import rebuilding_code

    frame = homes().assign(times=np.arange(120) % 3, cost=[f"${v:,}" for v in range(900, 1020)])
    frame["kind"] = np.arange(120) % 7
    data = tmp_path / "homes.csv"
    frame.to_csv(data, index=False)
    sizes = {"members": 8, "components": 5, "basis": "orthogonal"}
    options = FitOptions(data, ["price"], drop=["rent"], seed=5, **sizes, **column)
    asked = ["--drop", "rent", "--seed", 5, "--rivals", "none"]
    for name, value in (sizes | column).items():
        asked += [f"--{name}", *value] if isinstance(value, list) else [f"--{name}", value]
    assert negcorr("fit", data, "-t", "price", *asked, "-o", "out", "-q").code == 0
    page = (tmp_path / "here/out/report.html").read_text(encoding="utf-8")
    assert "NCLRegressor(" in page
    schema = Schema.from_json(describe(tmp_path / "here/out/model.skops").notes["schema"])
    space = {}
    monkeypatch.chdir(tmp_path)
    exec(rebuilding_code(options, schema), space)
    stored = package.load(tmp_path / "here/out/model.skops")
    inputs = package.read_table(data).frame[list(stored.feature_names_in_)]
    np.testing.assert_array_equal(space["model"].predict(inputs), stored.predict(inputs))


def test_the_default_is_that_of_python(negcorr, data, tmp_path):
    result = negcorr("fit", data, "-t", "price", "--rivals", "mean", "-o", "out")
    assert (result.code, result.err) == (0, "")
    assert names_in(tmp_path / "here/out") == FILES
    model = package.load(tmp_path / "here/out/model.skops")
    assert repr(model) == "NCLRegressor()"
    frame = package.read_table(data).frame
    inputs = frame[["size", "kind", "built", "rent"]]
    expected = package.NCLRegressor().fit(inputs, frame["price"])
    np.testing.assert_array_equal(model.predict(inputs), expected.predict(inputs))
    words = " ".join(result.out.split())
    assert f"features {expected.choice_.members[0].candidate}" in words
    metrics = strict_json((tmp_path / "here/out/metrics.json").read_text(encoding="utf-8"))
    assert metrics["model"]["features"] == expected.choice_.lines()


@pytest.mark.parametrize("basis", ["auto", "orthogonal", "nystroem", "kernel", "linear", "trees"])
def test_names_of_bases_are_those_of_python(negcorr, data, tmp_path, basis):
    asked = ("--basis", basis, "--rivals", "none", "-o", "out", "-q")
    assert negcorr("fit", data, "-t", "price", *asked).code == 0
    model = package.load(tmp_path / "here/out/model.skops")
    assert model.basis == basis


@pytest.mark.parametrize(("loss", "wanted"), [("huber", "huber"), ("2.5", 2.5)])
def test_gross_errors_that_count_for_little(negcorr, data, tmp_path, loss, wanted):
    result = negcorr("fit", data, "-t", "price", "--loss", loss, "--rivals", "mean", "-o", "out")
    assert result.code == 0
    assert package.load(tmp_path / "here/out/model.skops").loss == wanted


def test_deep_networks(negcorr, data, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    short = {"lam": [0.0, 0.9], "learning_rate": 0.01, "max_epochs": 3}
    monkeypatch.setattr("negcorr.deep.DeepNCLRegressor", lambda **given: deep_ncl(**given, **short))
    quick = ("--members", 4, "--rivals", "mean")
    result = negcorr("fit", data, "-t", "price", "--deep", *quick, "-o", "out")
    assert result.code == 0
    assert "DeepNCLRegressor: 4 members" in result.out
    assert names_in(tmp_path / "here/out") == FILES
    predicted = negcorr("predict", tmp_path / "here/out/model.skops", data)
    assert predicted.out.startswith("price_predicted\n")
    refused = negcorr("predict", tmp_path / "here/out/model.skops", data, "--interval", 0.9)
    assert refused.code == 2
    assert "has no intervals" in refused.complaint()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--test-size", 1.5], "--test-size 1.5: must be between 0 and 1."),
        (["--test-size", 0.5, "--test", "x.csv"], "--test and --test-size: give one of them."),
        (["--criterion", "kfld"], "Did you mean kfold?"),
        (["--basis", "forest"], "--basis forest: allowed are auto, fourier"),
        (["--solver", "lu"], "--solver lu: allowed are auto, gram, qr"),
        (["--loss", "absolute"], "--loss absolute: allowed are squared, huber, numbers > 0."),
        (["--loss", "0"], "--loss 0: allowed are squared, huber, numbers > 0."),
        (["--loss", "inf"], "--loss inf: allowed are"),
        (["--loss", "nan"], "--loss nan: allowed are"),
        (["--deep", "--loss", "huber"], "--loss huber: deep networks have none"),
        (["--stream", "--loss", "2"], "--stream: --loss 2 needs the whole table in memory."),
        (["--seed", -1], "--seed -1"),
        (["--jobs", 0], "--jobs 0"),
        (["--rivals", "forest"], "Did you mean random forest?"),
        (["--group", "kind", "--time", "built"], "--group and --time"),
        (["--deep", "--basis", "trees"], "--basis trees: deep networks have none"),
        (["--deep", "--criterion", "kfold"], "--criterion kfold: allowed are sure, gcv"),
        (["--deep", "--weights", "size"], "deep networks take no weights"),
    ],
)
def test_options_that_make_no_sense(negcorr, data, tmp_path, arguments, words):
    result = negcorr("fit", data, "-t", "price", *arguments)
    assert result.code == 2
    assert words in result.complaint()
    assert result.out == ""
    assert names_in(tmp_path / "here") == []


@pytest.mark.parametrize("given", [[], ["-t", ""], ["-t", " , "]])
@pytest.mark.parametrize("command", ["fit", "dof"])
def test_a_target_must_be_named_and_columns_are_shown(negcorr, data, command, given):
    result = negcorr(command, data, *given)
    assert result.code == 2
    assert result.complaint() == (
        "negcorr: --target: name the column to predict. homes.csv has 'size', 'kind', 'built', "
        "'price', 'rent'."
    )


def test_a_second_file_with_rows_of_the_first(negcorr, data, tmp_path):
    result = negcorr("fit", data, "-t", "price", *QUICK, "--test", data, "-o", "out")
    remark = "All of the rows of homes.csv are rows of homes.csv too: figures on them are too good"
    assert remark in result.err
    assert (
        remark in strict_json((tmp_path / "here/out/metrics.json").read_text("utf-8"))["notes"][0]
    )
    assert remark in (tmp_path / "here/out/report.html").read_text(encoding="utf-8")


def test_few_rows_are_said_to_be_few(negcorr, tmp_path):
    write_homes(tmp_path / "few.csv", n=30)
    result = negcorr("fit", tmp_path / "few.csv", "-t", "price", *QUICK)
    assert "note: 6 rows held out are few: the figures say little." in result.err


def test_an_ensemble_too_large_for_the_machine_is_refused_at_once(negcorr, data, tmp_path):
    result = negcorr("fit", data, "-t", "price", "--members", 10**9)
    assert result.code == 2
    assert "--members 1000000000: 10000000000 features of 120 rows would take" in result.complaint()
    assert names_in(tmp_path / "here") == []


def test_the_memory_of_a_search_is_that_of_its_budget(negcorr, data, tmp_path, monkeypatch):
    monkeypatch.setattr("negcorr.cli.fitting.available_bytes", lambda: 10_000_000)
    result = negcorr("fit", data, "-t", "price")
    assert result.code == 2
    assert "--basis auto: up to 2000 features of 120 rows would take about" in result.complaint()
    assert names_in(tmp_path / "here") == []


def test_how_rows_were_held_out(negcorr, tmp_path):
    frame = homes().assign(who=np.repeat(list("abcdefghijkl"), 10))
    frame.to_csv(tmp_path / "homes.csv", index=False)
    asked = ("fit", tmp_path / "homes.csv", "-t", "price", *QUICK)
    assert "20 rows held out, 2 groups of who" in negcorr(*asked, "--group", "who").out
    assert "24 rows held out, the last by built" in negcorr(*asked, "--time", "built").out


@pytest.mark.parametrize(("columns", "lost"), [(60, "MAE"), (45, "95 % covers")])
def test_names_stay_on_narrow_screens(negcorr, data, monkeypatch, columns, lost):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = negcorr("fit", data, "-t", "price", *QUICK).out
    assert lost not in shown
    assert "ridge" in shown
    several = negcorr("fit", data, "-t", "price,rent", *QUICK).out
    assert "price  " in several
    assert max(map(len, several.split("Wrote")[0].splitlines()[7:])) <= 120


def test_a_target_that_is_not_there(negcorr, data, tmp_path):
    result = negcorr("fit", data, "-t", "Price")
    assert result.code == 1
    assert "did you mean 'price'?" in result.complaint()
    assert names_in(tmp_path / "here") == []


def test_a_place_that_cannot_be_written_to_is_told_before_the_fit(negcorr, data, tmp_path):
    (tmp_path / "file").touch()
    result = negcorr("fit", data, "-t", "price", "-o", tmp_path / "file" / "out")
    assert result.code == 1
    assert "cannot write there" in result.complaint()


def interrupt(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)


def sends(number, wait=False):
    """A function that sends this process a signal, and may wait for what the main thread does."""

    def send(*arguments, **options):
        os.kill(os.getpid(), number)
        if wait:
            deadline = time.monotonic() + 60.0
            while time.monotonic() < deadline:
                stop_if_abandoned()
                time.sleep(0.001)

    return send


SIGNALS = [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]


def stopped(result, number, name):
    assert result.code == 128 + number
    assert result.out == ""
    assert result.err == f"negcorr: stopped by {name}; no file is half-written.\n"


@pytest.mark.parametrize(("number", "name"), SIGNALS)
@pytest.mark.parametrize(
    "where",
    [
        "negcorr.cli.fit_files.report",
        "negcorr.cli.fit_files.save",
        "negcorr.cli.fit_files.path_table",
        "negcorr.criteria.kfold.KFold.from_cells",
        "negcorr._common.files._put_in_place",
    ],
)
def test_a_signal_leaves_no_file(negcorr, data, tmp_path, monkeypatch, where, number, name):
    monkeypatch.setattr(where, sends(number))
    result = negcorr("fit", data, "-t", "price", *QUICK, "-o", "new/out", "-q")
    stopped(result, number, name)
    assert names_in(tmp_path / "here") == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(("number", "name"), SIGNALS)
def test_a_signal_ends_worker_threads(negcorr, data, tmp_path, monkeypatch, number, name):
    """One of them gets it while others wait, as K-fold's do."""

    def in_threads(*arguments, **options):
        with worker_threads(3) as run:
            run(lambda k: sends(number, wait=True)() if k == 0 else sends(0, wait=True)(), range(6))

    monkeypatch.setattr("negcorr.criteria.kfold.KFold.from_cells", in_threads)
    before = threading.active_count()
    stopped(negcorr("fit", data, "-t", "price", *QUICK, "-o", "new/out", "-q"), number, name)
    end = time.monotonic() + 20  # workers end at the next step of their work
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
    assert names_in(tmp_path / "here") == []


@pytest.mark.parametrize(("number", "name"), SIGNALS)
def test_a_signal_ends_deep_training(negcorr, data, tmp_path, monkeypatch, number, name):
    pytest.importorskip("torch")
    monkeypatch.setattr("negcorr.deep.grid.train", sends(number))
    quick = ("--members", 4, "--rivals", "mean")
    result = negcorr("fit", data, "-t", "price", "--deep", *quick, "-o", "out", "-q")
    stopped(result, number, name)
    assert names_in(tmp_path / "here") == []


def test_sigterm_that_comes_twice_does_not_disturb_the_clean_up(
    negcorr, data, tmp_path, monkeypatch
):
    """Programs such as timeout send it to the process and to its group."""
    rmtree = shutil.rmtree

    def slow(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        rmtree(*arguments, **options)

    monkeypatch.setattr("negcorr.cli.fit_files.report", sends(signal.SIGTERM))
    monkeypatch.setattr("negcorr._common.files.shutil.rmtree", slow)
    stopped(negcorr("fit", data, "-t", "price", *QUICK, "-o", "out", "-q"), *SIGNALS[1])
    assert names_in(tmp_path / "here") == []


def test_who_handles_sigterm_goes_on_to(negcorr, data):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *arguments: heard.append(1))
    try:
        negcorr("fit", data, "-t", "none")
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1]


@pytest.mark.parametrize("at", FILES)
def test_a_folder_in_the_place_of_a_file_is_told_before_the_fit(negcorr, data, tmp_path, at):
    assert negcorr("fit", data, "-t", "price", *QUICK, "-o", "out", "-q").code == 0
    out = tmp_path / "here/out"
    (out / at).unlink()
    (out / at).mkdir()
    before = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    result = negcorr("fit", data, "-t", "price", *QUICK, "-o", "out", "--seed", 9)
    assert result.code == 1
    assert f"{at} is a folder" in result.complaint()
    assert result.out == ""
    assert {f.name: f.read_bytes() for f in out.iterdir() if f.is_file()} == before
    assert names_in(out) == FILES


@pytest.mark.parametrize("command", ["fit", "demo"])
def test_a_folder_in_use_is_refused_by_its_name(negcorr, data, tmp_path, command):
    words = ("fit", data, "-t", "price", *QUICK) if command == "fit" else ("demo",)
    with in_use(tmp_path / "here/out"):
        before = names_in(tmp_path / "here/out")
        result = negcorr(*words, "-o", "out", "-q")
        assert names_in(tmp_path / "here/out") == before
    assert result.code == 1
    assert "out is in use by another run" in result.complaint()


def test_ctrl_c_leaves_older_files_as_they_are(negcorr, data, tmp_path, monkeypatch):
    arguments = ("fit", data, "-t", "price", *QUICK, "-o", "out", "-q")
    assert negcorr(*arguments).code == 0
    out = tmp_path / "here/out"
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    monkeypatch.setattr("negcorr.cli.fit_files.path_table", interrupt)
    assert negcorr(*arguments, "--seed", 9).code == 130
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_the_same_command_gives_the_same_files(negcorr, data, tmp_path):
    for name in ("one", "two"):
        negcorr("fit", data, "-t", "price", *QUICK, "-o", name, "-q")
    one, two = (tmp_path / "here" / name for name in ("one", "two"))
    assert (one / "path.csv").read_bytes() == (two / "path.csv").read_bytes()
    inputs = pd.read_csv(data)[["size", "kind", "built", "rent"]]
    models = [package.load(folder / "model.skops") for folder in (one, two)]
    np.testing.assert_array_equal(models[0].predict(inputs), models[1].predict(inputs))


def test_warnings_become_notes(negcorr, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=30), "y": rng.normal(size=30)})
    frame["x"] = frame["x"].astype(object).where(frame.index != 5, "?")
    frame.to_csv(tmp_path / "x.csv", index=False)
    result = negcorr("fit", tmp_path / "x.csv", "-t", "y", *QUICK)
    assert result.code == 0
    assert "note: column 'x': 1 '?' read as missing." in result.err
    assert "Warning" not in result.err
    assert not math.isnan(
        strict_json(negcorr("fit", tmp_path / "x.csv", "-t", "y", *QUICK, "--json").out)["model"][
            "dof"
        ]
    )


class TestStreams:
    """Files that are read in pieces; one of the tests makes a small file count as large."""

    def test_the_same_model_as_in_memory(self, negcorr, data, tmp_path):
        for name, flag in (("whole", "--no-stream"), ("pieces", "--stream")):
            result = negcorr("fit", data, "-t", "price", *QUICK, flag, "-o", name, "--json")
            assert result.code == 0
        one, two = (tmp_path / "here" / name for name in ("whole", "pieces"))
        assert names_in(two) == FILES
        old, new = (
            strict_json((f / "metrics.json").read_text(encoding="utf-8")) for f in (one, two)
        )
        assert new["held_out"] == old["held_out"]
        assert new["fingerprint"] == old["fingerprint"]
        assert new["model"]["lam"] == old["model"]["lam"]
        assert new["tried"]["lam"] == old["tried"]["lam"]
        models = [package.load(folder / "model.skops") for folder in (one, two)]
        frame = homes()
        predicted = [model.predict(frame[list(model.feature_names_in_)]) for model in models]
        np.testing.assert_allclose(predicted[0], predicted[1], rtol=1e-9)

    def test_large_files_are_streamed_and_that_is_said(self, negcorr, data, tmp_path, monkeypatch):
        monkeypatch.setattr("negcorr.cli.fitting.is_large", lambda path: True)
        result = negcorr("fit", data, "-t", "price", *QUICK)
        assert result.code == 0
        assert "note: homes.csv is large: it is read in pieces" in result.err
        assert "categories     kind" in result.out
        grouped = negcorr("fit", data, "-t", "price", *QUICK, "--time", "built")
        assert grouped.code == 0
        assert "note: homes.csv is large, and --time needs all of it in memory." in grouped.err

    @pytest.mark.parametrize(
        "asked", [["--time", "built"], ["--group", "kind"], ["--criterion", "loo"], ["--deep"]]
    )
    def test_what_cannot_be_streamed(self, negcorr, data, asked):
        result = negcorr("fit", data, "-t", "price", "--stream", *asked)
        assert result.code == 2
        assert "needs the whole table in memory" in result.complaint()

    def test_the_code_rebuilds_the_model(self, negcorr, data, tmp_path, monkeypatch):
        from negcorr.cli.fit_options import FitOptions
        from negcorr.cli.fitting import rebuilding_code

        negcorr("fit", data, "-t", "price", *QUICK, "--stream", "--drop", "rent", "-o", "out", "-q")
        stored = tmp_path / "here/out/model.skops"
        schema = Schema.from_json(describe(stored).notes["schema"])
        space = {}
        monkeypatch.chdir(tmp_path)
        options = FitOptions(data, ["price"], basis="fourier", members=8, components=5)
        exec(rebuilding_code(options, schema, in_pieces=True), space)
        model = package.load(stored)
        inputs = homes()[list(model.feature_names_in_)]
        np.testing.assert_array_equal(space["model"].predict(inputs), model.predict(inputs))
