"""A table read in pieces is fitted and tried as one in memory is."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import negcorr
from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures
from negcorr.columns import counts
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.exceptions import TableError
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks
from negcorr.rows import sample
from negcorr.tables.large_trial import predict_frames, rows_of_large, try_out_large
from negcorr.tables.trial import try_out

pytest.importorskip("pyarrow")

SMALL = {"basis": FourierFeatures(8, 5)}


@pytest.fixture
def few_are_many(monkeypatch):
    """Tables of more than 100 rows are large."""
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 100)


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n)),
            "z": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "cost": [f"${1000 * v:,.0f}" for v in rng.uniform(1, 5, n)],
        }
    )
    y = np.sin(frame["x"].fillna(0.0)) + frame["z"] * (frame["kind"] == "a")
    return frame.assign(y=y + 0.1 * rng.normal(size=n))


def assert_close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def file_of(frame, folder, name="data.csv", **options):
    file = folder / name
    frame.to_csv(file, index=False, **options)
    return file


def tried(file, **options):
    settings = {"baselines": ["mean"], "parameters": SMALL, **options}
    return try_out_large(file, settings.pop("target", "y"), **settings)


def inputs_of(model, frame):
    return frame[list(model.feature_names_in_)]


def assert_same_trial(found, expected, frame):
    """The same models, of the same rows."""
    raw = inputs_of(expected.model, frame)
    typed = samples(frame, expected.schema, np.arange(len(frame)), typed=True).inputs
    pairs = ((found.model, expected.model, raw), (found.tried, expected.tried, typed))
    for one, other, inputs in pairs:
        assert_close(one.lam_, other.lam_)
        assert_close(one.dof_, other.dof_)
        assert_close(one.predict(inputs), other.predict(inputs))
    assert found.comparison.n_train == expected.comparison.n_train
    assert found.seen.digest == expected.seen.digest


@pytest.mark.parametrize("parameters", [SMALL, {}], ids=["fourier", "auto"])
@pytest.mark.parametrize("categorical", [[], ["x"]])
def test_it_is_the_trial_of_the_table_in_memory(tmp_path, few_are_many, parameters, categorical):
    frame = rows().assign(no=range(600), const="c")
    frame.loc[:9, "y"] = np.nan
    file = file_of(frame.sample(frac=1.0, random_state=0), tmp_path)
    chunks = TableChunks.open(file, block=70)
    asked = {"categorical": categorical}
    found = tried(chunks, seed=3, parameters=parameters, **asked)
    whole = read_table(file).frame
    schema = infer_columns(whole, "y", **asked)
    given = {"seed": 3, "baselines": ["mean"], "parameters": parameters}
    assert_same_trial(found, try_out(whole, schema, **given), whole)
    assert (found.schema["no"].role, found.schema["const"].role) == ("identifier", "constant")
    assert [c.role for c in found.schema.columns] == [c.role for c in schema.columns]
    assert found.schema["x"].n_missing == schema["x"].n_missing == frame["x"].isna().sum()
    assert found.schema["y"].remark == "10 rows without it are left out"
    assert found.n_rows == 590


def test_a_small_table_is_read_as_a_whole(tmp_path):
    file = file_of(rows(), tmp_path)
    found, frame = tried(file, seed=3), read_table(file).frame
    schema = infer_columns(frame, "y")
    expected = try_out(frame, schema, seed=3, baselines=["mean"], parameters=SMALL)
    assert found.schema == schema
    assert_same_trial(found, expected, frame)
    assert found.test.positions.tolist() == expected.test.positions.tolist()
    assert found.notes == ()


def test_neither_order_nor_pieces_matter(tmp_path, few_are_many):
    frame = rows()
    mixed = frame.sample(frac=1.0, random_state=0)
    one = tried(file_of(frame, tmp_path))
    other = tried(TableChunks.open(file_of(mixed, tmp_path, "mixed.csv"), block=37))
    assert_same_trial(one, other, frame)
    for key in ("NCL", "mean"):
        figures = [found.comparison[key].figures[0].rmse for found in (one, other)]
        assert figures[0] == pytest.approx(figures[1], rel=1e-9)
    assert one.schema.named("category", "number", "date") == one.schema.inputs


def test_what_a_part_of_the_rows_was_used_for_is_said(tmp_path, few_are_many):
    found = tried(file_of(rows(), tmp_path), baselines=["mean", "ridge"])
    held = 600 - found.comparison.n_train
    assert found.notes == (
        f"figures are of 100 of {held} held-out rows.",
        f"others were fitted to 100 of {found.comparison.n_train} rows, and NCL to all of them: "
        "with more rows they may do better.",
    )


def test_row_numbers_stay_where_they_are_the_only_input(tmp_path, few_are_many):
    file = file_of(pd.DataFrame({"no": range(300), "y": np.arange(300) % 7}), tmp_path)
    assert tried(file).schema["no"].role == "number"


def test_weights_are_taken_along_and_checked(tmp_path, few_are_many):
    frame = rows().drop(columns=["day", "cost"]).assign(w=lambda f: 1.0 + (f["z"] > 0))
    found = tried(file_of(frame, tmp_path), weights="w")
    model = NCLRegressor(**SMALL)
    inputs = frame[["x", "z", "kind"]]
    model.fit(inputs, frame["y"], sample_weight=frame["w"])
    assert_close(found.model.predict(inputs), model.predict(inputs))
    assert found.model.path_.spectrum.weight == frame["w"].sum()
    kept = rows_of_large(TableChunks.open(file_of(frame, tmp_path, "rows.csv")))
    position = int(frame.index[~frame["z"].isin(kept["z"])][-1])
    frame.loc[position, "w"] = -1.0
    with pytest.raises(
        TableError, match=rf"row {position + 1}: weights='w' must hold .* got '-1.0"
    ):
        tried(file_of(frame, tmp_path, "bad.csv"), weights="w")


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("cost", "dear", "column 'cost': 'dear' is not a number, as the others are"),
        ("day", "soon", "column 'day': 'soon' is not a date, as the others are"),
    ],
)
def test_a_cell_that_is_not_what_its_column_holds(
    tmp_path, few_are_many, monkeypatch, name, cell, message
):
    frame = rows(2000)
    frame["day"] = frame["day"] + pd.to_timedelta(np.arange(2000), "min")
    frame["cost"] = [f"${v:,}" for v in range(5000, 7000)]
    for position in range(1999, 1400, -1):
        bad = frame.astype({name: object})
        bad.loc[position, name] = cell
        file = file_of(bad, tmp_path)
        if cell not in set(rows_of_large(TableChunks.open(file))[name]):
            break
    assert tried(file).schema[name].role in ("identifier", "text")
    # Where there are too many different words to hold, the sample says what they are.
    monkeypatch.setattr(counts, "MOST_COUNTED", 20)
    with pytest.raises(TableError, match=f"row {position + 1}: {message}") as found:
        tried(TableChunks.open(file, block=64))
    assert "drop it" in str(found.value)
    tried(file, drop=[name])
    tried(file, categorical=[name])


def test_targets_that_lack_in_many_rows(tmp_path, few_are_many):
    frame = rows(400)
    frame.loc[np.arange(400) % 2 == 1, "y"] = np.nan
    found = tried(file_of(frame, tmp_path))
    expected = try_out(frame, infer_columns(frame, "y"), baselines=["mean"], parameters=SMALL)
    assert "200 rows without it are left out" in infer_columns(frame, "y")["y"].remark
    assert_same_trial(found, expected, frame)


def test_the_split_goes_by_all_rows_of_the_table(tmp_path, few_are_many):
    """150 rows are many, 75 of them with a target would be few."""
    frame = rows(150)
    frame.loc[np.arange(150) % 2 == 1, "y"] = np.nan
    found = tried(file_of(frame, tmp_path))
    expected = try_out(frame, infer_columns(frame, "y"), baselines=["mean"], parameters=SMALL)
    assert_same_trial(found, expected, frame)


def test_a_column_of_numbers_that_holds_a_word_further_down_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 100)
    monkeypatch.setattr("negcorr.reading.text_source.HEAD_ROWS", 50)
    frame = rows().astype({"z": object})
    frame.loc[590, "z"] = "many"
    file = file_of(frame, tmp_path)
    found = tried(file)
    roles = [
        schema["z"].role for schema in (found.schema, infer_columns(read_table(file).frame, "y"))
    ]
    assert roles == ["identifier", "identifier"]
    assert "column 'z': text, since not all of its cells are numbers." in found.notes


@pytest.mark.parametrize("way", ["gzip", "decimal commas", "latin-1", "parquet"])
def test_the_same_rows_in_another_file(tmp_path, few_are_many, way):
    frame = rows().drop(columns=["cost"]).assign(kind=lambda f: f["kind"] + "é")
    if way == "gzip":
        file = file_of(frame, tmp_path, "data.csv.gz")
        assert file.read_bytes()[:2] == gzip.compress(b"")[:2]
    elif way == "decimal commas":
        file = file_of(frame, tmp_path, sep=";", decimal=",")
    elif way == "latin-1":
        file = file_of(frame, tmp_path, encoding="latin-1")
    else:
        file = tmp_path / "data.parquet"
        frame.assign(day=frame["day"].astype(str)).to_parquet(file, row_group_size=100)
    plain = tried(file_of(frame, tmp_path, "plain.csv"))
    found = tried(TableChunks.open(file, block=90))
    assert_same_trial(found, plain, read_table(tmp_path / "plain.csv").frame)
    joined = [p for _, p in predict_frames(found.model, TableChunks.open(file, found.schema, 50))]
    inputs = inputs_of(plain.model, read_table(file).frame)
    assert_close(np.concatenate(joined), plain.model.predict(inputs))


def test_predictions_need_no_target_and_say_where_a_cell_is_wrong(tmp_path):
    frame = rows()
    found = tried(file_of(frame, tmp_path))
    new = frame.drop(columns=["y"]).astype({"cost": object})
    chunks = TableChunks.open(file_of(new, tmp_path, "new.csv"), found.schema, block=100)
    pieces = list(predict_frames(found.model, chunks))
    assert [len(piece) for piece, _ in pieces] == [100] * 6
    expected = found.model.predict(inputs_of(found.model, read_table(tmp_path / "new.csv").frame))
    assert_close(np.concatenate([p for _, p in pieces]), expected)
    new.loc[555, "cost"] = "free"
    chunks = TableChunks.open(file_of(new, tmp_path, "new.csv"), found.schema, block=100)
    with pytest.raises(TableError, match=r"row 556: column 'cost': 'free' is not a number"):
        list(predict_frames(found.model, chunks))
    chunks = TableChunks.open(file_of(new[["x"]], tmp_path, "new.csv"), found.schema)
    with pytest.raises(TableError, match="lacks the columns"):
        list(predict_frames(found.model, chunks))


def test_a_streamed_model_answers_the_same_after_a_file(tmp_path, few_are_many):
    frame = rows()
    found = tried(file_of(frame, tmp_path))
    inputs = inputs_of(found.model, read_table(tmp_path / "data.csv").frame)
    again = negcorr.load(negcorr.save(found.model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(inputs), found.model.predict(inputs))


def test_several_targets_without_others_and_without_a_fit_to_all(tmp_path, few_are_many):
    told = []
    file = file_of(rows().assign(u=lambda f: f["z"] ** 2), tmp_path)
    options = {"baselines": [], "refit": False, "tell": told.append, "test_size": 0.4}
    found = tried(file, target=["y", "u"], **options)
    assert not found.refitted
    assert found.n_rows == found.comparison.n_train
    assert 300 < found.n_rows < 420
    assert found.predicted.shape == (100, 2)
    assert told == [
        "reading the table for the kinds of its columns",
        "reading the table for what the features are drawn from",
        "fitting NCL",
    ]


def test_many_equal_rows(tmp_path, few_are_many):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 3000), "b": rng.integers(0, 5, 3000)})
    frame["y"] = frame["a"] + frame["b"] ** 2 + rng.integers(0, 9, 3000)
    found = tried(file_of(frame, tmp_path))
    assert found.n_rows == 3000
    held = found.test
    # Each of the different rows once, with as much weight as it has rows.
    assert held.weight.sum() + found.comparison.n_train == 3000
    together = held.inputs.assign(y=held.y)
    assert len(together.drop_duplicates()) == len(together) <= 25 * 9


def test_what_cannot_be_asked_for(tmp_path, few_are_many):
    file = file_of(rows(), tmp_path)
    with pytest.raises(TableError, match="group='kind' needs the table in memory"):
        tried(file, group="kind")
    with pytest.raises(TableError, match="time='day' needs the table in memory"):
        tried(file, time="day")
    with pytest.raises(TableError, match="target='Y' is no column; did you mean 'y'"):
        tried(file, target="Y")
    with pytest.raises(ValueError, match=r"test_size=1\.5 must be a number between 0 and 1"):
        tried(file, test_size=1.5)
    with pytest.raises(ValueError, match="baselines='tree' is unknown"):
        tried(file, baselines=["tree"])
    with pytest.raises(ValueError, match="loo"):
        tried(file, parameters={"criterion": "loo"})
    (tmp_path / "none.csv").write_text("x,y\n")
    with pytest.raises(TableError, match="the table has no row"):
        tried(tmp_path / "none.csv")


MEMORY = """
import sys, tracemalloc
import pyarrow
from negcorr.bases import FourierFeatures
from negcorr.ensemble import stream
from negcorr.reading import TableChunks, text_bytes, text_source
from negcorr.rows import sample
from negcorr.tables import try_out_large
stream.MOST_KEPT_ROWS, sample.SAMPLE_ROWS = 100, 200
text_bytes.BLOCK_BYTES = text_source.BLOCK_BYTES = text_source.HEAD_BYTES = 2**17
options = dict(baselines=[], parameters={"basis": FourierFeatures(4, 4)})
tracemalloc.start()
found = try_out_large(TableChunks.open(sys.argv[1], block=200), "y", **options)
print(found.n_rows, tracemalloc.get_traced_memory()[1], pyarrow.default_memory_pool().max_memory())
"""


def test_memory_does_not_grow_with_the_rows(tmp_path):
    frame = rows(1000)[["x", "z", "kind", "y"]].assign(note="words " * 60)
    peaks = []
    for copies in (2, 12):
        file = tmp_path / f"{copies}.csv"
        moved = [frame.assign(x=frame["x"] + 1e-3 * k, z=frame["z"] + k) for k in range(copies)]
        pd.concat(moved).to_csv(file, index=False)
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MEMORY, str(file)],
            capture_output=True,
            text=True,
            check=True,
        )
        n_rows, traced, pooled = map(int, run.stdout.split())
        assert n_rows == 1000 * copies
        peaks.append((traced, pooled))
    # Ten thousand rows more are four million bytes of text.
    assert peaks[1][0] < peaks[0][0] + 1e6
    assert peaks[1][1] < peaks[0][1] + 1e6


def test_the_verdict_tells_that_others_had_a_sample(tmp_path, few_are_many):
    file = file_of(rows(), tmp_path)
    sampled = try_out_large(file, "y", baselines=["ridge"], parameters=SMALL)
    assert sampled.comparison.n_rivals == 100
    assert "the others were fitted to 100 of the" in sampled.comparison.verdict()
