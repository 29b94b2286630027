"""Pipelines for tables go into files without pickle, and come back the same."""

import numpy as np
import pandas as pd
import pytest

import negcorr
from negcorr.bases import FourierFeatures

pytest.importorskip("skops")


def test_a_fitted_pipeline_answers_the_same_after_a_file(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a", "b", None], size=n),
            "day": pd.date_range("2024-01-01", periods=n, freq="D"),
        }
    )
    frame["y"] = frame["number"] + 0.1 * rng.normal(size=n)
    model = negcorr.make_tabular(frame, "y", basis=FourierFeatures(5, 3, inputs="none"))
    model.fit(frame.drop(columns="y"), frame["y"])
    again = negcorr.load(negcorr.save(model, tmp_path / "model.skops"))
    inputs = frame.drop(columns="y")
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
