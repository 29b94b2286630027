"""The picture of a path in a notebook: small, legible, cheap, and never a failure."""

import pickle
import re
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from models import ncl
from sklearn.datasets import load_diabetes

from negcorr import NCLRegressor
from negcorr.path.curve_view import drawn_gaps, far_apart, positions, readable_limits
from negcorr.path.path import NCLPath
from negcorr.path.sketch import path_sketch, path_sketch_or_nothing

SVG = "{http://www.w3.org/2000/svg}"

X, Y = load_diabetes(return_X_y=True)
CASES = {
    "kfold": {},
    "sure": {"criterion": "sure"},
    "bic": {"criterion": "bic"},
    "lam zero": {"lam": 0.0},
    "lam one": {"lam": 1.0},
    "tiny gap": {"gap": 1e-12, "solver": "qr"},
}


def fitted(outputs=1, rows=120, **options):
    y = Y if outputs == 1 else np.stack([Y * 10.0**k for k in range(outputs)], axis=1)
    options = {"basis": "fourier", "gamma": "kwok-tsang", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ncl(12, 4, **options).fit(X[:rows], y[:rows])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_sketch_is_a_small_well_formed_picture_that_says_what_it_is(options, outputs):
    model = fitted(outputs, **options)
    for j in range(outputs):
        svg = path_sketch(model.path_, j)
        assert len(svg.encode()) < 6000
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert root.find(f"{SVG}title").text == root.get("aria-label")
        dof = np.atleast_1d(model.dof_)[j]
        assert f"{dof:.4g} degrees of freedom" in root.find(f"{SVG}desc").text
        numbers = [float(v) for d in root.iter(f"{SVG}path") for v in numbers_of(d)]
        assert np.isfinite(numbers).all()
        assert "nan" not in svg
        assert "currentColor" in svg


def numbers_of(path):
    return re.findall(r"-?\d+\.?\d*", path.get("d"))


def test_sketch_takes_four_rows_and_constant_targets():
    for y in ([1.0, 2.0, 4.0, 3.0], [1.0] * 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ncl(3, 2, lam=0.5).fit(X[:4], y)
        ET.fromstring(path_sketch(model.path_))


def test_untrusted_names_are_escaped():
    path = replace(fitted().path_, criterion="<script>alert('x')</script>\"&")
    svg = path_sketch(path)
    assert "<script" not in svg
    ET.fromstring(svg)


def test_sketch_computes_no_cross_validation(monkeypatch):
    path = pickle.loads(pickle.dumps(fitted(criterion="kfold").path_))

    def refuse(self, name, gaps):
        raise AssertionError("a criterion was computed")

    monkeypatch.setattr(NCLPath, "criterion_curve", refuse)
    path_sketch(path)
    assert "cross_validation" not in vars(path)


def test_failure_is_no_picture(monkeypatch):
    model = fitted()
    monkeypatch.setattr("negcorr.path.sketch.drawn_gaps", lambda *_: 1 / 0)
    assert path_sketch_or_nothing(model.path_) == ""
    html = model._repr_mimebundle_()["text/html"]
    assert "degrees of freedom" in html
    assert "<desc>" not in html


def test_notebook_shows_the_sketch_and_survives_any_failure(monkeypatch):
    model = fitted()
    assert "<desc>" in model._repr_mimebundle_()["text/html"]
    assert "<desc>" in model.summary()._repr_html_()
    assert "svg" not in str(model.summary())
    assert "<desc>" in model.compact()._repr_mimebundle_()["text/html"]
    monkeypatch.setattr(NCLRegressor, "summary", lambda self: 1 / 0)
    assert "NCLRegressor" in model._repr_mimebundle_()["text/html"]


def test_showing_a_stream_does_not_tune_it():
    model = ncl(6, 3).partial_fit(X[:200], Y[:200])
    html = model._repr_mimebundle_()["text/html"]
    assert "200 rows so far" in html
    assert model._state.known is None
    assert "lam_" not in dir(model)
    assert 0.0 <= model.lam_ <= 1.0
    assert "lam_" in dir(model)
    assert "<desc>" in model._repr_mimebundle_()["text/html"]


class TestView:
    def test_gaps_stop_at_what_is_resolved_but_hold_the_choice(self):
        path = fitted(solver="gram").path_
        assert drawn_gaps(path, 0.5)[-1] >= path.smallest_trusted_gap
        assert drawn_gaps(path, 1e-30)[-1] == 1e-30
        assert drawn_gaps(path, 0.0)[-1] == 0.0

    def test_identical_members_still_have_a_decade(self):
        rng = np.random.default_rng(0)
        from negcorr import ncl_path

        same = rng.normal(size=(40, 3))
        path = ncl_path(np.hstack([same, same]), rng.normal(size=40), [0, 3, 6], lam=0.5)
        gaps = drawn_gaps(path, 0.5)
        assert gaps[0] == 1.0
        assert gaps[-1] <= 0.1

    def test_zero_alone_has_a_position(self):
        assert 0.0 < positions(np.array([0.0]))[0] < 0.1

    @pytest.mark.parametrize(
        "curves",
        [
            [],
            [[np.nan, np.inf]],
            [[0.0, 0.0]],
            [[5.0]],
            [[-3.0, -4.0, 1e9]],
            [[1e-300, 2e-300]],
            [[1e150, 1e151]],
        ],
    )
    def test_limits_are_finite_and_apart(self, curves):
        arrays = [np.array(curve) for curve in curves]
        low, high = readable_limits(arrays)
        assert np.isfinite([low, high]).all()
        assert low < high
        assert far_apart(arrays) is False
