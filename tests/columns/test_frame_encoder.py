import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from negcorr import NCLRegressor
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.exceptions import TableError


@parametrize_with_checks([FrameEncoder()])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "cost": [f"${1000 * v:,.0f}" for v in rng.uniform(1, 5, n)],
            "kind": rng.choice(["a", "b", None], size=n),
            "day": pd.date_range("2024-01-01", periods=n, freq="3D").astype(str),
            "note": [f"words {k}" for k in range(n)],
        }
    )


def test_columns_are_what_the_estimator_makes_of_them(frame):
    encoder = FrameEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names[:6] == ["size", "size_missing", "cost", "kind_(missing)", "kind_a", "kind_b"]
    assert names[6] == "day_days"
    assert not any(name.startswith("note") for name in names)
    model = NCLRegressor("linear", lam=0.5).fit(frame, np.arange(60.0))
    assert encoder.encoding_.schema == model.columns_
    made = encoder.transform(frame)
    assert made.shape == (60, len(names))
    assert set(np.unique(made[:, [1, 3, 4, 5]])) == {0.0, 1.0}
    there = frame["size"].notna().to_numpy()
    np.testing.assert_array_equal(made[there, 0], frame["size"][there])
    assert set(made[~there, 0]) == {frame["size"].median()}


def test_the_order_of_rows_does_not_matter(frame):
    mixed = frame.sample(frac=1.0, random_state=0)
    assert FrameEncoder().fit(mixed).encoding_ == FrameEncoder().fit(frame).encoding_


def test_weights_are_repeated_rows(frame):
    weight = np.arange(60) % 3
    weighted = FrameEncoder().fit(frame, sample_weight=weight)
    repeated = FrameEncoder().fit(frame.loc[frame.index.repeat(weight)])
    assert weighted.encoding_.parts == repeated.encoding_.parts


def test_other_tables(frame):
    import polars as pl
    import pyarrow as pa

    expected = FrameEncoder().fit_transform(frame)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(FrameEncoder().fit_transform(table), expected)
    array = FrameEncoder().fit(frame.to_numpy())
    np.testing.assert_array_equal(array.transform(frame.to_numpy()), expected)
    assert array.get_feature_names_out()[:3].tolist() == ["x0", "x0_missing", "x1"]
    numbers = np.column_stack([np.arange(60.0), np.full(60, 7.0)])
    np.testing.assert_array_equal(FrameEncoder().fit_transform(numbers), numbers)


def test_what_is_new_after_the_fit(frame):
    encoder = FrameEncoder().fit(frame)
    new = frame.head(2).assign(kind="never seen", day=None)
    made = dict(zip(encoder.get_feature_names_out(), encoder.transform(new).T, strict=True))
    assert made["kind_a"].tolist() == [0.0, 0.0]
    assert np.isfinite(made["day_days"]).all()
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(frame.drop(columns="kind"))
    with pytest.raises(TableError, match="column 'cost': 'free' is not a number"):
        encoder.transform(frame.assign(cost="free"))


def test_before_other_regressors(frame):
    model = make_pipeline(FrameEncoder(), StandardScaler(), RidgeCV())
    y = frame["size"].fillna(0.0) + (frame["kind"] == "a")
    assert clone(model).fit(frame, y).score(frame, y) > 0.9
