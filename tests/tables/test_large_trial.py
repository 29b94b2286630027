"""A table read in pieces is fitted and tried as one in memory would be."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import negcorr
from negcorr import NCLRegressor, make_tabular
from negcorr.bases import FourierFeatures
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.exceptions import TableError
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks
from negcorr.tables.large_trial import predict_frames, try_out_large
from negcorr.tables.splitting import hold_out
from negcorr.tables.table_sample import sample_of

pytest.importorskip("pyarrow")

SMALL = {"basis": FourierFeatures(8, 5, inputs="none")}


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


def test_a_sample_of_all_rows_gives_what_a_fit_in_memory_gives(tmp_path):
    file = file_of(rows(), tmp_path)
    found = tried(TableChunks.open(file, block=70), seed=3)
    frame = read_table(file).frame
    schema = infer_columns(frame, "y")
    assert found.schema == schema
    assert found.notes == ()
    train, test = hold_out(frame, schema, seed=3)
    assert found.test.positions.tolist() == test.tolist()
    assert (found.comparison.n_train, found.comparison.n_test) == (len(train), len(test))
    # The same features and basis, all rows at once.
    encode = found.model[:-1]
    everything, known = samples(frame, schema), samples(frame, schema, train)
    features = encode.transform(everything.inputs)
    ensemble = NCLRegressor(random_state=3, **SMALL)
    model = clone(ensemble).fit(features, everything.y)
    assert_close(found.model.predict(frame), model.predict(features))
    alone = clone(ensemble).draw(features)
    alone.partial_fit(encode.transform(known.inputs), known.y)
    expected = alone.predict(encode.transform(found.test.inputs))
    assert_close(found.predicted, expected)
    assert found.tried[-1].path_.spectrum.weight == len(train)


@pytest.mark.parametrize("sample_rows", [100, 10_000])
def test_neither_order_nor_pieces_matter(tmp_path, sample_rows):
    frame = rows()
    mixed = frame.sample(frac=1.0, random_state=0)
    one = tried(file_of(frame, tmp_path), sample_rows=sample_rows)
    chunks = TableChunks.open(file_of(mixed, tmp_path, "mixed.csv"), block=37)
    other = tried(chunks, sample_rows=sample_rows)
    assert_close(one.model.predict(frame), other.model.predict(frame))
    assert one.comparison.n_train == other.comparison.n_train
    for key in ("NCL", "mean"):
        figures = [found.comparison[key].figures[0].rmse for found in (one, other)]
        assert figures[0] == pytest.approx(figures[1], rel=1e-9)
    assert one.schema.named("category", "number", "date") == one.schema.inputs
    assert {c.name: c.n_missing for c in one.schema.columns} == {
        c.name: c.n_missing for c in other.schema.columns
    }


def test_what_a_part_of_the_rows_was_used_for_is_said(tmp_path):
    frame = rows().assign(no=range(600), text=[f"words {k} {k * k}" for k in range(600)])
    frame.loc[:9, "y"] = np.nan
    found = tried(file_of(frame, tmp_path), sample_rows=100, baselines=["mean", "ridge"])
    held = 590 - found.comparison.n_train
    assert found.notes == (
        "roles of columns, medians, scales and features are from a sample of 100 of 600 rows.",
        *([f"figures are of 100 of {held} held-out rows."] if held > 100 else []),
        f"rivals were fitted to 100 of {found.comparison.n_train} rows, and NCL to all of them: "
        "with more rows they may do better.",
    )
    assert found.n_rows == 590
    assert found.model[-1].path_.spectrum.weight == 590
    schema = found.schema
    assert schema.n_rows == 600
    assert schema["x"].n_missing == frame["x"].isna().sum()
    assert schema["y"].remark == "10 rows without it are left out"
    assert (schema["no"].role, schema["text"].role) == ("identifier", "identifier")
    assert schema["no"].remark == "numbers the rows; counts of the sample"


def test_row_numbers_stay_where_they_are_the_only_input(tmp_path):
    file = file_of(pd.DataFrame({"no": range(300), "y": np.sin(np.arange(300) / 20)}), tmp_path)
    assert sample_of(TableChunks.open(file), 100).schema("y")["no"].role == "number"


def test_weights_are_taken_along_and_checked(tmp_path):
    frame = rows().drop(columns=["day", "cost"]).assign(w=lambda f: 1 + (f["z"] > 0))
    found = tried(file_of(frame, tmp_path), weights="w", sample_rows=10_000)
    features = found.model[:-1].transform(frame)
    model = NCLRegressor(**SMALL)
    model.fit(features, frame["y"], sample_weight=frame["w"])
    assert_close(found.model.predict(frame), model.predict(features))
    assert found.model[-1].path_.spectrum.weight == frame["w"].sum()
    frame["w"] = frame["w"].astype(float)
    bad = frame.copy()
    position = sorted(set(range(600)) - sampled(frame, tmp_path))[-1]
    bad.loc[position, "w"] = -1.0
    with pytest.raises(
        TableError, match=rf"row {position + 1}: weights='w' must hold .* got '-1.0"
    ):
        tried(file_of(bad, tmp_path), weights="w", sample_rows=100)


def sampled(frame, folder):
    file = file_of(frame, folder, "sampled.csv")
    return set(sample_of(TableChunks.open(file), 100).positions.tolist())


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("z", "many", "column 'z' holds 'many', which is no number"),
        ("cost", "dear", "column 'cost': 'dear' is not a number, as the others are"),
        ("day", "soon", "column 'day': 'soon' is not a date, as the others are"),
        ("y", "none of them", "column 'y' holds 'none of them', which is no number"),
    ],
)
def test_a_broken_cell_in_the_last_piece(tmp_path, name, cell, message):
    frame = rows()
    for position in range(599, 500, -1):
        bad = frame.astype({name: object})
        bad.loc[position, name] = cell
        if position not in sampled(bad, tmp_path):
            break
    chunks = TableChunks.open(file_of(bad, tmp_path), block=64)
    with pytest.raises(TableError, match=f"row {position + 1}: {message}") as found:
        tried(chunks, sample_rows=100)
    assert "drop it" in str(found.value)
    if name in ("z", "cost"):
        tried(chunks, sample_rows=100, drop=[name])
        tried(chunks, sample_rows=100, categorical=[name])


@pytest.mark.parametrize("way", ["gzip", "decimal commas", "latin-1", "parquet"])
def test_the_same_rows_in_another_file(tmp_path, way):
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
        frame.to_parquet(file, row_group_size=100)
    plain = tried(file_of(frame, tmp_path, "plain.csv"))
    found = tried(TableChunks.open(file, block=90))
    assert_close(found.model.predict(frame), plain.model.predict(frame))
    assert found.comparison.n_test == plain.comparison.n_test
    joined = [p for _, p in predict_frames(found.model, TableChunks.open(file, found.schema, 50))]
    assert_close(np.concatenate(joined), plain.model.predict(read_table(file).frame))


def test_predictions_need_no_target_and_say_where_a_cell_is_wrong(tmp_path):
    frame = rows()
    found = tried(file_of(frame, tmp_path))
    new = frame.drop(columns=["y"]).astype({"cost": object})
    chunks = TableChunks.open(file_of(new, tmp_path, "new.csv"), found.schema, block=100)
    pieces = list(predict_frames(found.model, chunks))
    assert [len(piece) for piece, _ in pieces] == [100] * 6
    expected = found.model.predict(read_table(tmp_path / "new.csv").frame)
    assert_close(np.concatenate([p for _, p in pieces]), expected)
    new.loc[555, "cost"] = "free"
    chunks = TableChunks.open(file_of(new, tmp_path, "new.csv"), found.schema, block=100)
    with pytest.raises(TableError, match=r"row 556: column 'cost': 'free' is not a number"):
        list(predict_frames(found.model, chunks))
    chunks = TableChunks.open(file_of(new[["x"]], tmp_path, "new.csv"), found.schema)
    with pytest.raises(TableError, match=r"^X lacks the columns"):
        list(predict_frames(found.model, chunks))


def test_a_streamed_pipeline_answers_the_same_after_a_file(tmp_path):
    pytest.importorskip("skops")
    frame = rows()
    found = tried(file_of(frame, tmp_path), sample_rows=200)
    for number, model in enumerate((found.model, found.tried)):
        again = negcorr.load(negcorr.save(model, tmp_path / f"{number}.skops"))
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_a_streamed_model_has_moments_and_a_fitted_one_has_none(tmp_path):
    frame = rows()
    streamed = tried(file_of(frame, tmp_path))
    features = streamed.model[:-1].transform(frame)
    weight = streamed.model[-1].partial_fit(features, frame["y"]).path_.spectrum.weight
    assert weight == 2 * len(frame)
    fitted = make_tabular(frame, "y", **SMALL).fit(frame, frame["y"])
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as error:
        fitted[-1].partial_fit(fitted[:-1].transform(frame), frame["y"])
    assert "this model has no moments" in str(error.value.__cause__)


def test_several_targets_without_rivals_and_without_a_fit_to_all(tmp_path):
    told = []
    file = file_of(rows().assign(u=lambda f: f["z"] ** 2), tmp_path)
    options = {"baselines": [], "refit": False, "tell": told.append, "test_size": 0.4}
    found = tried(file, target=["y", "u"], **options)
    assert not found.refitted
    assert found.n_rows == found.comparison.n_train == 360
    assert found.predicted.shape == (240, 2)
    assert told == ["reading a sample of the rows", "fitting NCL"]


def test_many_equal_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 3000), "b": rng.integers(0, 5, 3000)})
    frame["y"] = frame["a"] + frame["b"] ** 2
    found = tried(file_of(frame, tmp_path), sample_rows=200)
    train = {tuple(row) for row in frame.drop(index=found.test.positions).to_numpy().tolist()}
    assert len(found.test.positions) <= 200
    assert found.n_rows == 3000
    assert len(train) == 25


def test_what_cannot_be_asked_for(tmp_path):
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
from negcorr.tables import try_out_large
stream.MOST_KEPT_ROWS = 100
text_bytes.BLOCK_BYTES = text_source.BLOCK_BYTES = text_source.HEAD_BYTES = 2**17
small = {"basis": FourierFeatures(4, 4, inputs="none")}
options = dict(baselines=[], sample_rows=200, parameters=small)
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


def test_the_verdict_tells_that_rivals_had_a_sample(tmp_path):
    file = file_of(rows(), tmp_path)
    sampled = try_out_large(file, "y", baselines=["ridge"], sample_rows=100, parameters=SMALL)
    assert sampled.comparison.n_rivals == 100
    assert "the others were fitted to 100 of the" in sampled.comparison.verdict()
    whole = try_out_large(file, "y", baselines=["ridge"], parameters=SMALL)
    assert "not even" not in whole.comparison.verdict()
