import numpy as np
import pandas as pd
import pytest

from negcorr.bases import FourierFeatures
from negcorr.columns.kinds import infer_columns
from negcorr.tables.baselines import BASELINES
from negcorr.tables.comparison import Comparison, Method
from negcorr.tables.held_out_errors import Figures
from negcorr.tables.trial import compare


def rows(n=300, noise=0.1, linear=False, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.uniform(-3, 3, size=n), "kind": rng.choice(["a", "b"], size=n)})
    wave = frame["x"] if linear else np.sin(2 * frame["x"])
    return frame.assign(y=wave + (frame["kind"] == "a") + noise * rng.normal(size=n))


@pytest.fixture(scope="module")
def found():
    frame = rows()
    return compare(frame, infer_columns(frame, "y"))


def test_all_methods_on_the_same_rows(found):
    assert [method.name for method in found.methods] == ["NCL", *BASELINES]
    assert found["NCL"].gain == 0.0
    assert all(method.fit_seconds > 0 for method in found.methods)
    assert (found.n_train, found.n_test) == (240, 60)
    ours = found["NCL"].figures[0]
    assert ours.rmse < found["ridge"].figures[0].rmse
    assert 0.85 <= ours.coverage <= 1.0
    assert np.isnan(found["ridge"].figures[0].coverage)
    assert found["mean"].loss == pytest.approx(1.0, rel=0.3)
    with pytest.raises(KeyError):
        found["nope"]


def test_table_for_people(found):
    lines = str(found).splitlines()
    assert len(lines) == 6
    assert "±" in lines[1]
    assert "95 % covers" in lines[0]


def test_same_seed_same_figures(found):
    frame = rows()
    again = compare(frame, infer_columns(frame, "y"), baselines=["gradient boosting"])
    assert again["NCL"].figures == found["NCL"].figures
    assert again["gradient boosting"].loss == found["gradient boosting"].loss
    assert again["gradient boosting"].gain_se == found["gradient boosting"].gain_se


def method(name, rmse, gain, error):
    figures = Figures("y", 50, rmse, 0.1, rmse, 0.1, 0.5, np.nan)
    return Method(name, (figures,), rmse**2, gain, error, 0.1)


def verdict(*rivals, targets=("y",)):
    return Comparison((method("NCL", 1.0, 0.0, 0.0), *rivals), targets, 200, 50).verdict()


def test_verdicts():
    assert verdict(method("ridge", 2.0, 3.0, 0.5)) == (
        "NCL predicts best, with an error of 1 RMSE on 50 held-out rows; ridge (2 RMSE) comes next "
        "(6.0 paired standard errors)."
    )
    assert "within noise (0.5 paired" in verdict(method("ridge", 1.1, 0.25, 0.5))
    assert "within noise" in verdict(method("ridge", 0.9, -0.25, 0.5))
    lost = verdict(method("mean", 2.0, 3.0, 0.5), method("ridge", 0.5, -0.75, 0.1))
    assert lost.startswith("NCL loses to ridge (0.5 RMSE), with an error of 1 RMSE")
    useless = verdict(method("mean", 1.0, 0.0, 0.5), method("ridge", 0.5, -0.75, 0.1))
    assert "cannot be told from predicting the mean" in useless
    assert "nothing was compared" in verdict()
    assert "no standard error is known" in verdict(method("ridge", 2.0, 3.0, np.nan))
    assert "standard deviations" in verdict(method("ridge", 2.0, 3.0, 0.5), targets=("a", "b"))
    only_mean = verdict(method("mean", 0.9, -0.01, 0.5))
    assert "mean (0.9 RMSE) is the best of the others: the difference is within noise" in only_mean


def test_pure_noise_is_said_to_be(recwarn):
    frame = rows(200).assign(y=np.random.default_rng(5).normal(size=200))
    text = compare(frame, infer_columns(frame, "y"), baselines=["mean"]).verdict()
    assert "within noise" in text or "NCL loses" in text


def test_several_targets_weights_groups():
    frame = rows(240).assign(z=lambda f: f["x"] ** 2 + 0.1 * f["y"], w=1 + np.arange(240) % 2)
    frame["who"] = [f"g{i % 12}" for i in range(240)]
    schema = infer_columns(frame, ["y", "z"], weights="w", group="who")
    found = compare(frame, schema, parameters={"basis": FourierFeatures(20)})
    assert [f.output for f in found["gradient boosting"].figures] == ["y", "z"]
    assert all(np.isfinite(f.rmse_se) for m in found.methods for f in m.figures)
    assert "standard deviations" in found.verdict()
    assert len(str(found).splitlines()) == 11


def test_default_folds_of_groups_and_times():
    frame = rows(150).assign(who=lambda f: np.arange(150) % 7, t=np.arange(150) * 2.0)
    for role in ({"group": "who", "drop": ["t"]}, {"time": "t", "drop": ["who"]}):
        schema = infer_columns(frame, "y", **role)
        found = compare(frame, schema, baselines=["ridge"])
        assert found["NCL"].figures[0].r2 > 0.5


def test_unknown_baseline():
    frame = rows(50)
    with pytest.raises(ValueError, match="baselines='svm' is unknown; allowed are 'mean'"):
        compare(frame, infer_columns(frame, "y"), baselines=["svm"])


def test_a_verdict_says_where_the_others_had_fewer_rows():
    methods = (method("NCL", 1.0, 0.0, 0.0), method("ridge", 2.0, 3.0, 0.5))
    uneven = Comparison(methods, ("y",), 200, 50, 40).verdict()
    assert uneven.startswith("NCL predicts best")
    assert uneven.endswith(
        "The comparison is not even: the others were fitted to 40 of the 200 rows that NCL had."
    )
    for even in (Comparison(methods, ("y",), 200, 50, 200), Comparison(methods, ("y",), 200, 50)):
        assert "not even" not in even.verdict()
    alone = Comparison(methods[:1], ("y",), 200, 50, 40)
    assert "not even" not in alone.verdict()
