import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import hashes, samples
from negcorr.exceptions import TableError
from negcorr.tables.splitting import folds_for, hold_out


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    n = 100
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "kind": rng.choice(["a", "b"], size=n),
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
            "who": [f"g{i % 9}" for i in range(n)],
            "y": rng.normal(size=n),
        }
    )
    return frame.sample(frac=1.0, random_state=0)


def split(frame, seed=0, test_size=0.2, **roles):
    return hold_out(frame, infer_columns(frame, "y", **roles), seed=seed, test_size=test_size)


def test_share_and_partition(frame):
    train, test = split(frame)
    assert len(test) == 20
    assert sorted([*train, *test]) == list(range(100))
    assert (np.diff(test) > 0).all()
    assert len(split(frame, test_size=0.5)[1]) == 50


def test_content_decides_and_not_order(frame):
    _, test = split(frame)
    other = frame.sample(frac=1.0, random_state=1)
    _, again = split(other)
    assert set(frame.index[test]) == set(other.index[again])
    assert set(split(frame, seed=1)[1]) != set(test)


def test_writing_does_not_matter(frame):
    _, test = split(frame)
    written = frame.assign(x=[f"$ {x}" for x in frame["x"]], day=pd.to_datetime(frame["day"]))
    assert infer_columns(written, "y")["x"].form == "$ plain"
    np.testing.assert_array_equal(split(written)[1], test)


def test_equal_rows_are_on_one_side(frame):
    twice = pd.concat([frame, frame.iloc[::-1]], ignore_index=True).assign(id=range(1000, 1200))
    train, test = split(twice)
    keys = twice["x"].to_numpy()
    assert not set(keys[train]) & set(keys[test])
    assert len(test) == 40


def test_rows_without_target_are_left_out(frame):
    frame = frame.assign(y=np.where(np.arange(100) < 50, frame["y"], np.nan))
    train, test = split(frame)
    assert len(train) + len(test) == 50
    assert max(*train, *test) < 50


def test_many_rows_are_held_out_by_a_threshold_of_their_keys():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=30_000), "y": rng.normal(size=30_000)})
    schema = infer_columns(frame, "y")
    test = hold_out(frame, schema, test_size=0.1)[1]
    assert abs(len(test) - 3000) < 300
    keys = hashes(samples(frame, schema), schema)
    cut = np.uint64(0.9 * 2.0**64)
    np.testing.assert_array_equal(test, np.flatnonzero(keys >= cut))
    # Other rows do not matter then.
    fewer = frame.iloc[:25_000]
    np.testing.assert_array_equal(hold_out(fewer, schema, test_size=0.1)[1], test[test < 25_000])
    same = pd.DataFrame({"x": np.repeat([1.0, 2.0], 15_000), "y": np.repeat([0.0, 1.0], 15_000)})
    with pytest.raises(TableError, match="would be held out by their content"):
        hold_out(same, infer_columns(same, "y"), test_size=1e-6)


def test_groups_stay_whole(frame):
    train, test = split(frame, group="who")
    who = frame["who"].to_numpy()
    assert not set(who[train]) & set(who[test])
    assert 10 <= len(test) <= 30
    assert set(split(frame, group="who", seed=5)[1]) != set(test)


def test_the_last_are_held_out(frame):
    train, test = split(frame, time="day")
    day = frame["day"].to_numpy()
    assert max(day[train]) < min(day[test])
    assert (day[train] == np.sort(day[train])).all()
    assert len(test) == 20


def test_equal_times_are_on_one_side(frame):
    frame = frame.assign(t=np.arange(100) // 30)
    train, test = split(frame, time="t")
    t = frame["t"].to_numpy()
    assert set(t[test]) == {3}
    assert set(t[train]) == {0, 1, 2}
    frame["price"] = [f"{1000 + i:,}" for i in range(100)]
    assert split(frame, time="price")[1].tolist() == list(range(80, 100))


def test_what_is_impossible():
    few = pd.DataFrame({"x": [1.0, 5.0, 2.0], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(TableError, match="3 rows have their targets; 4 at least"):
        split(few)
    same = pd.DataFrame({"x": [1.0, 1.0, 1.0, 2.0], "y": [1.0, 1.0, 1.0, 2.0]})
    with pytest.raises(TableError, match="cannot be split by content"):
        split(same)
    groups = pd.DataFrame({"x": range(0, 8, 2), "who": list("aaab"), "y": [1.0, 2, 3, None]})
    schema = infer_columns(groups, "y", group="who")
    with pytest.raises(TableError, match="3 rows"):
        hold_out(groups, schema)
    one = groups.assign(who="a", y=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(TableError, match="all 4 rows have the same group in 'who'"):
        hold_out(one, schema)
    with pytest.raises(TableError, match="one group here"):
        folds_for(schema, one)
    when = groups.assign(t=5.0, y=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(TableError, match="same time"):
        hold_out(when, infer_columns(when, "y", time="t"))


@pytest.mark.parametrize("wrong", [{"test_size": 0}, {"test_size": 1.0}, {"test_size": "a"}])
def test_wrong_share(frame, wrong):
    with pytest.raises(ValueError, match="test_size="):
        split(frame, **wrong)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, 2**32])
def test_wrong_seed(frame, seed):
    with pytest.raises(ValueError, match="seed="):
        split(frame, seed=seed)


def test_folds(frame):
    assert folds_for(infer_columns(frame, "y"), frame) == 5
    groups = folds_for(infer_columns(frame, "y", group="kind"), frame)
    assert isinstance(groups, GroupKFold)
    assert groups.get_n_splits() == 2
    time = infer_columns(frame, "y", time="day")
    assert isinstance(folds_for(time, frame), TimeSeriesSplit)
    with pytest.raises(TableError, match="too few for folds"):
        folds_for(time, frame.iloc[:2])


def test_very_long_names_of_levels_are_hashed():
    kind = ["a" * 10**6, "b" * 10**6] * 100
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": kind, "x": rng.normal(size=200), "y": rng.normal(size=200)})
    assert len(split(frame)[1]) == 40


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=4, max_size=30), st.floats(0.05, 0.95))
def test_groups_are_never_torn(labels, test_size):
    frame = pd.DataFrame({"g": labels, "x": np.arange(len(labels)) ** 2.0, "y": range(len(labels))})
    try:
        train, test = split(frame, group="g", test_size=test_size)
    except TableError:
        return
    g = np.array(labels)
    assert len(train) >= 2
    assert len(test) >= 2
    assert not set(g[train]) & set(g[test])
