"""What a stored model has of its spectrum: tables of curves, and modes that follow from rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.bases import FourierFeatures, NestedFeatures
from negcorr.moments.moments import total
from negcorr.moments.scan import scan_moments
from negcorr.rows.rows import Rows
from negcorr.spectrum.curve_table import CurvesOnly, CurveTable
from negcorr.spectrum.factorise import RowsSpectrum, factorise
from negcorr.spectrum.gap import lattice

CURVES = ["shrinkage", "dof", "dof_derivative", "residual_dof", "train_error"]


class TestCurveTable:
    def shares(self, gaps, rho=(0.02, 0.3, 2.0)):
        """Curves like those of degrees of freedom, whose modes shrink at different gaps."""
        return 1.0 / (1.0 + np.asarray(gaps)[:, None] * (3.0 / np.array(rho) - 1.0))

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(st.lists(st.floats(-5.0, 0.0), min_size=1, max_size=8))
    def test_is_exact_at_its_gaps_and_close_between(self, exponents):
        known = np.append(lattice(1e-5, stride=5), 0.0)
        table = CurveTable(known, self.shares(known))
        np.testing.assert_array_equal(table.at(known), table.values)
        np.testing.assert_array_equal(table.at(known[::-3]), table.values[::-3])
        gaps = np.power(10.0, exponents)
        np.testing.assert_allclose(table.at(gaps), self.shares(gaps), atol=1e-5)

    def test_below_its_smallest_gap_is_a_line_to_lam_1_or_constant(self):
        known = lattice(1e-3, stride=5)
        values = self.shares(known)
        least = np.array([known[-1] / 2, known[-1] / 1e6, 0.0])
        np.testing.assert_array_equal(CurveTable(known, values).at(least), values[[-1] * 3])
        end = 2.0 * values[-1]
        found = CurveTable(np.append(known, 0.0), np.vstack([values, end])).at(least)
        np.testing.assert_allclose(found[0], 1.5 * values[-1], rtol=1e-12)
        np.testing.assert_array_equal(found[2], end)

    def test_of_one_gap_is_constant(self):
        table = CurveTable(np.array([1.0]), np.array([[4.0, 5.0]]))
        np.testing.assert_array_equal(table.at(np.array([1.0, 0.3, 0.0])), [[4.0, 5.0]] * 3)


def problem(nested=False, weighted=True, n=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(n, 2))
    rows = Rows(X, y, rng.integers(1, 3, n).astype(float) if weighted else None)
    basis = FourierFeatures(20, 6, gamma=0.3, random_state=0)
    if nested:
        other = FourierFeatures(15, 4, gamma=0.05, random_state=1)
        basis = NestedFeatures([basis, other], gaps=[0.1, 0.02])
    return rows, basis.fit(X, sample_weight=rows.weight)


def factorised(rows, basis, groups, alpha, route):
    moments = total(scan_moments(rows, basis, list(groups), "factor"))
    return factorise(moments, basis.block_starts_, alpha=alpha, route=route, nesting=basis.nesting_)


@pytest.mark.parametrize("route", ["gram", "qr"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("nested", [False, True])
class TestModesThatFollowFromTheRows:
    @pytest.fixture
    def both(self, nested, alpha, route):
        """A spectrum with its modes, and a stored one of the same rows."""
        rows, basis = problem(nested)
        groups = tuple(np.array_split(np.arange(rows.n_rows), 3))
        there = factorised(rows, basis, groups, alpha, route)
        whole = RowsSpectrum.of(there, rows=rows, basis=basis, groups=groups, route=route)
        return there, pickle.loads(pickle.dumps(whole))

    def test_have_the_same_bits(self, both):
        there, stored = both
        gaps = np.array([1.0, 0.1, 1e-4, 0.0])
        for name in [*CURVES, "diversity", "member_error", "coef"]:
            for gap in gaps:
                found, wanted = (getattr(each, name)(gap=gap) for each in (stored, there))
                np.testing.assert_array_equal(found, wanted, err_msg=name)
        np.testing.assert_array_equal(stored.block_ranks, there.block_ranks)

    def test_are_not_stored_but_without_rows(self, both):
        there, stored = both
        stored.coef(0.5)
        again = pickle.dumps(stored)
        n_rows, width = stored.rows.n_rows, there.n_features
        assert len(again) < 8 * n_rows * width < len(pickle.dumps(there))
        assert b"whitening" not in again
        bare = stored.without_rows()
        assert not hasattr(bare, "rows")
        np.testing.assert_array_equal(bare.coef(0.5), there.coef(0.5))


@pytest.mark.parametrize("alpha", [0.0, 0.3])
class TestCurvesAlone:
    @pytest.fixture
    def both(self, alpha):
        rows, basis = problem(n=200)
        spectrum = factorised(rows, basis, [np.arange(200)], alpha, "qr")
        known = np.append(lattice(spectrum.smallest_useful_gap, stride=5), 0.0)
        excess = CurveTable(known, spectrum.excess(known)) if spectrum.has_excess else None
        return spectrum, CurvesOnly.of(spectrum, excess)

    def test_are_those_of_the_spectrum_at_every_lam(self, both):
        spectrum, curves = both
        gaps = np.array([[1.0, 0.3], [1e-5, 0.0]])
        for name in CURVES:
            found, wanted = (getattr(each, name)(gap=gaps) for each in (curves, spectrum))
            np.testing.assert_array_equal(found, wanted, err_msg=name)
        # With a ridge these two have a part that is known from a table.
        for name in ("diversity", "member_error"):
            found, wanted = (getattr(each, name)(gap=gaps) for each in (curves, spectrum))
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if spectrum.alpha else 1e-12)
        assert (curves.n_features, curves.n_outputs) == (spectrum.n_features, 2)
        wanted = (spectrum.dof(gap=1.0) + spectrum.dof(gap=0.0)) / 2
        assert curves.gap_for_dof(wanted) == spectrum.gap_for_dof(wanted)

    def test_need_the_factorisation_for_the_rest(self, both):
        _, curves = both
        features = np.zeros((3, curves.n_features))
        for call in (
            lambda: curves.coef(0.5),
            lambda: curves.coef_path(np.array([0.5])),
            lambda: curves.member_coef(0.5),
            lambda: curves.variance_factor(features, 0.5),
            lambda: curves.block_ranks,
        ):
            with pytest.raises(ValueError, match=r"dropped; use the model .* compact\(path=True\)"):
                call()

    def test_are_small(self, both):
        spectrum, curves = both
        stored = pickle.dumps(curves)
        assert len(stored) < len(pickle.dumps(spectrum)) / 10
        np.testing.assert_array_equal(pickle.loads(stored).dof(0.7), spectrum.dof(0.7))
