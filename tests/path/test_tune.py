"""From rows to a path: the choice, the route, the warnings and the refusals."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import literal_fit, make_problem, random_problem
from sklearn.model_selection import KFold as RowKFold

import negcorr.path.tune
from negcorr import NCLRegressor, difference_noise_variance, ncl_path
from negcorr.bases import FourierFeatures
from negcorr.exceptions import NegcorrWarning, PrecisionWarning, SearchBoundaryWarning
from negcorr.path.path import CRITERIA
from negcorr.spectrum.gap import lattice


def noisy(seed=0, n=60, widths=(3, 3, 3, 3, 3), outputs=1):
    """Enough noise that no criterion asks for λ = 1."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n, list(widths))
    y = problem.features[:, :outputs] * 0.3 + rng.normal(size=(n, outputs))
    return problem.features, y if outputs > 1 else y[:, 0], problem.starts


class TestChoice:
    @pytest.mark.parametrize("solver", ["gram", "qr"])
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_it_is_the_best_point_of_the_whole_lattice(self, criterion, solver):
        path = ncl_path(*noisy(), criterion=criterion, solver=solver)
        gaps = lattice(path.spectrum.smallest_useful_gap)
        curve = getattr(path, criterion)(gap=gaps)
        assert path.criterion == criterion
        # Of values equal but for rounding the largest gap is chosen.
        size = np.median(np.abs(curve))
        assert path.gap == gaps[np.flatnonzero(curve <= curve.min() + 1e-10 * size)[0]]
        assert_allclose(path.values[path.gaps == path.gap], curve.min(), rtol=1e-9)

    def test_every_output_has_its_own(self):
        features, y, starts = noisy(outputs=2)
        y = np.column_stack([y[:, 0], features @ np.ones(15)])
        together = ncl_path(features, y, starts, criterion="sure", noise_variance=[1.0, 0.5])
        for j in range(2):
            alone = ncl_path(
                features, y[:, j], starts, criterion="sure", noise_variance=[1.0, 0.5][j]
            )
            assert together.gap[j] == alone.gap
        assert together.gap[0] != together.gap[1]

    @pytest.mark.parametrize("criterion", ["kfold", "sure", "loo"])
    def test_the_order_of_rows_does_not_change_it(self, criterion):
        features, y, starts = noisy()
        first = ncl_path(features, y, starts, criterion=criterion)
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            again = ncl_path(features[order], y[order], starts, criterion=criterion)
            assert again.gap == first.gap

    @pytest.mark.parametrize("criterion", ["gcv", "aic", "aicc", "bic"])
    def test_where_nothing_is_left_of_the_targets_rounding_does_not_choose(self, criterion):
        # Members span all targets, so that every λ fits them to their rounding.
        for seed in range(5):
            features = np.random.default_rng(seed).normal(size=(20, 3))
            same = np.tile(features, 3) + 5.0
            path = ncl_path(same, features @ [1.0, 2.0, 3.0], [0, 3, 6, 9], criterion=criterion)
            assert path.gap == 1.0

    def test_aicc_is_infinite_where_rounding_leaves_a_sample(self):
        # Degrees of freedom are n − 2 but for rounding.
        for seed in range(5):
            features = np.random.default_rng(seed).normal(size=(6, 3))
            with pytest.raises(ValueError, match="criterion is not finite"):
                ncl_path(np.tile(features, 3), features[:, 0] ** 2, [0, 3, 6, 9], criterion="aicc")

    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv"])
    def test_integer_weights_are_repeated_rows(self, criterion):
        features, y, starts = noisy()
        times = np.random.default_rng(1).integers(1, 4, size=len(y))
        weighted = ncl_path(features, y, starts, criterion=criterion, sample_weight=times)
        rows = np.repeat(np.arange(len(y)), times)
        repeated = ncl_path(features[rows], y[rows], starts, criterion=criterion)
        assert weighted.gap == repeated.gap
        assert weighted.dof() == pytest.approx(repeated.dof(), rel=1e-9)

    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "loo"])
    def test_a_shift_and_a_unit_of_y_do_not_change_it(self, criterion):
        features, y, starts = noisy()
        first = ncl_path(features, y, starts, criterion=criterion, cv=RowKFold(5))
        moved = ncl_path(features, 3e3 * y - 7e3, starts, criterion=criterion, cv=RowKFold(5))
        assert moved.gap == first.gap

    def test_a_given_lam_or_gap_is_kept(self):
        features, y, starts = noisy()
        assert ncl_path(features, y, starts, lam=0.25).gap == 0.75
        given = ncl_path(features, y, starts, gap=1e-20)
        assert given.gap == 1e-20
        assert given.lam == 1.0
        assert given.criterion is None
        assert len(given.gaps) == len(given.values) == 0

    def test_features_without_information_leave_lam_0(self):
        _, y, starts = noisy()
        path = ncl_path(np.ones((60, 15)), y, starts)
        assert path.gap == 1.0
        assert path.dof() == 1.0
        assert_allclose(path.coef(), 0.0, atol=0)

    def test_a_target_without_information_leaves_lam_0(self):
        features, _, starts = noisy()
        path = ncl_path(features, np.full(60, 3.3), starts)
        assert path.gap == 1.0
        assert_allclose(path.coef(), 0.0, atol=1e-12)


class TestSmallEnd:
    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "loo"])
    def test_a_criterion_that_asks_for_lam_1_is_reported(self, criterion):
        """y is a combination of all features with next to no noise."""
        features, _, starts = noisy()
        rng = np.random.default_rng(3)
        y = features @ rng.normal(size=15) + 1e-9 * rng.normal(size=60)
        match = rf"best gap found by {criterion} is the smallest.*asks for lam = 1"
        with pytest.warns(SearchBoundaryWarning, match=match):
            path = ncl_path(features, y, starts, criterion=criterion, noise_variance=1e-18)
        assert path.at_small_end.all()
        assert path.gap == path.gaps[-1]
        assert issubclass(SearchBoundaryWarning, NegcorrWarning)

    def test_the_outputs_concerned_are_named(self):
        features, y, starts = noisy()
        exact = features @ np.random.default_rng(3).normal(size=15)
        with pytest.warns(SearchBoundaryWarning, match=r"for outputs \[1\]"):
            path = ncl_path(features, np.column_stack([y, exact]), starts, criterion="kfold")
        assert path.at_small_end.tolist() == [False, True]

    def test_the_warning_points_at_the_caller(self):
        features, _, starts = noisy()
        exact = features @ np.random.default_rng(3).normal(size=15)
        with pytest.warns(SearchBoundaryWarning) as caught:
            ncl_path(features, exact, starts, criterion="kfold")
        assert caught[0].filename == __file__

    def test_lam_0_is_no_reason_to_warn(self):
        features, _, starts = noisy()
        y = np.random.default_rng(5).normal(size=60)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            path = ncl_path(features, y, starts, criterion="bic")
        assert path.gap == 1.0


class TestSolver:
    def polynomials(self, n=60):
        x = np.linspace(0.0, 1.0, n)
        rng = np.random.default_rng(0)
        waves = np.cos(np.outer(x, 9.0 * rng.normal(size=3)))
        features = np.column_stack([x[:, None] ** np.arange(10), waves])
        return features, np.sin(5 * x) + 0.1 * rng.normal(size=n), np.array([0, 10, 13])

    @pytest.fixture(autouse=True)
    def nothing_is_quick(self, monkeypatch):
        monkeypatch.setattr(negcorr.path.tune, "QUICK", 0.0)

    def test_auto_takes_the_accurate_route_at_once_where_it_takes_no_time(self, monkeypatch):
        features, y, starts = noisy()
        monkeypatch.setattr(negcorr.path.tune, "QUICK", 60 * 15 * 15)
        assert features.shape == (60, 15)
        assert ncl_path(features, y, starts).solver == "qr"
        assert ncl_path(features, y, starts, solver="gram").solver == "gram"
        rows, target = np.vstack([features, features[:1]]), np.append(y, y[0])
        assert ncl_path(rows, target, starts).solver == "gram"

    def test_auto_stays_with_the_fast_route_on_ordinary_features(self):
        for criterion in ("kfold", "sure"):
            assert ncl_path(*noisy(), criterion=criterion).solver == "gram"

    def test_auto_takes_the_accurate_route_for_a_basis_of_powers(self):
        features, y, starts = self.polynomials()
        path = ncl_path(features, y, starts)
        assert path.solver == "qr"
        assert path.spectrum.whitening.condition > 1e6

    def test_auto_takes_the_accurate_route_for_a_tiny_given_gap_that_moves_modes(self):
        problem = make_problem("wide")
        features = np.hstack([problem.features, problem.features + 1e-7])
        y, rng = problem.y[:, 0], np.random.default_rng(0)
        features[:, 20:] += 1e-6 * rng.normal(size=(14, 20))
        starts = np.arange(0, 41, 4)
        assert ncl_path(features, y, starts, gap=1e-2, cv=2).solver == "gram"
        for gap in (1e-12, 1e-20):
            assert ncl_path(features, y, starts, gap=gap, cv=2).solver == "qr"

    def test_auto_takes_the_accurate_route_where_the_residual_is_rounding(self):
        features, _, starts = noisy()
        y = features @ np.random.default_rng(0).normal(size=15)
        path = ncl_path(features, y, starts, lam=1.0)
        assert path.solver == "qr"
        assert path.train_error() < 1e-26 * np.var(y)

    @pytest.mark.parametrize("solver", ["gram", "qr"])
    def test_a_solver_that_is_asked_for_is_used(self, solver):
        assert ncl_path(*noisy(), gap=0.1, solver=solver).solver == solver
        assert ncl_path(*noisy(), solver=solver).solver == solver

    def test_the_fast_route_warns_where_it_does_not_resolve_the_choice(self):
        features, y, starts = self.polynomials()
        with pytest.warns(PrecisionWarning, match=r"does not resolve gap=.*solver='auto' or 'qr'"):
            path = ncl_path(features, y, starts, gap=0.1, solver="gram")
        assert path.solver == "gram"
        assert not path.resolves_choice

    @pytest.mark.parametrize("n", [40, 25, 10])
    def test_both_solvers_agree_where_both_can_be_trusted(self, n):
        problem = random_problem(np.random.default_rng(n), n, [4, 4, 4])
        gaps = np.array([1.0, 0.1, 1e-3])
        one, other = (
            ncl_path(problem.features, problem.y[:, 0], problem.starts, lam=0.5, solver=s)
            for s in ("gram", "qr")
        )
        for name in ("dof", "train_error", "diversity", "kfold"):
            assert_allclose(getattr(one, name)(gap=gaps), getattr(other, name)(gap=gaps), rtol=1e-8)

    def test_the_accurate_route_keeps_digits_that_the_fast_one_loses(self):
        features, y, starts = self.polynomials()
        by_qr = ncl_path(features, y, starts, gap=0.1, solver="qr")
        design = features[:, 1:]
        # The same space in a well-conditioned basis of its own: QR of each centred block.
        blocks = [
            np.linalg.qr(block - block.mean(axis=0))[0] for block in (design[:, :9], design[:, 9:])
        ]
        clean = ncl_path(np.hstack(blocks), y, [0, 9, 12], gap=0.1, solver="qr")
        assert by_qr.dof() == pytest.approx(clean.dof(), rel=1e-7)
        assert by_qr.train_error() == pytest.approx(clean.train_error(), rel=1e-7)

    @pytest.mark.parametrize(("signal", "difference"), [(0.6, 1e-3), (0.6, 1e-4), (0.5, 1e-6)])
    def test_auto_chooses_as_the_accurate_route_does_between_distant_valleys(
        self, signal, difference
    ):
        """Members that differ a little, and a target that lives in their difference.

        One valley lies at a large gap; the better one at a gap below what the Gram route can
        be trusted with.
        """
        rng = np.random.default_rng(4)
        x, z = rng.normal(size=(2, 80))
        features = np.column_stack([x, x + difference * z, rng.normal(size=(80, 8))])
        y = 0.5 * x + signal * z + rng.normal(size=80)
        starts = [0, 1, 2, 6, 10]
        wanted = ncl_path(features, y, starts, solver="qr")
        assert wanted.gap < 1e-6
        assert ncl_path(features, y, starts).gap == wanted.gap


class TestNoiseVariance:
    def test_by_default_it_is_the_papers(self):
        problem = make_problem("multi-output")
        literal = literal_fit(problem, 1.0)
        n = problem.weight.sum()
        wanted = n * literal.train_error / (n - literal.dof)
        for given in (None, "paper"):
            path = ncl_path(
                problem.features,
                problem.y,
                problem.starts,
                sample_weight=problem.weight,
                lam=0.5,
                noise_variance=given,
            )
            assert_allclose(path.noise_variance, wanted, rtol=1e-9)

    def test_it_may_be_a_number_or_one_per_output_or_from_differences(self):
        problem = make_problem("multi-output")
        data = problem.features, problem.y, problem.starts
        assert ncl_path(*data, lam=0.5, noise_variance=2).noise_variance.tolist() == [2, 2, 2]
        own = ncl_path(*data, lam=0.5, noise_variance=[1, 2, 3])
        assert own.noise_variance.tolist() == [1, 2, 3]
        assert_allclose(
            own.sure(0.5),
            own.train_error(0.5) + np.array([1, 2, 3]) * (2 * own.dof(0.5) / 35 - 1),
            rtol=1e-12,
        )
        by_differences = ncl_path(*data, lam=0.5, noise_variance="difference")
        wanted = difference_noise_variance(problem.features, problem.y)
        assert_allclose(by_differences.noise_variance, wanted, rtol=1e-12)

    @pytest.mark.parametrize("criterion", ["sure", "cp"])
    def test_without_an_estimate_the_criteria_that_need_it_say_so(self, criterion):
        problem = make_problem("interpolating blocks")
        match = rf"criterion='{criterion}' needs a noise variance.*noise_variance as a number"
        with pytest.raises(ValueError, match=match):
            ncl_path(problem.features, problem.y[:, 0], problem.starts, criterion=criterion)

    def test_mallows_cp_has_no_value_without_noise(self):
        with pytest.raises(ValueError, match=r"noise_variance=0"):
            ncl_path(*noisy(), criterion="cp", noise_variance=0)


REFUSALS = [
    ({"lam": "best"}, ValueError, r"lam='best'.*\[0, 1\] or 'auto'"),
    ({"lam": 1.5}, ValueError, r"lam=1\.5 is outside \[0, 1\].*unbounded below"),
    ({"lam": -0.1}, ValueError, r"lam=-0\.1 is outside \[0, 1\]"),
    ({"lam": None}, ValueError, r"exactly one of lam and gap"),
    ({"gap": 2.0}, ValueError, r"gap=2\.0 is outside \[0, 1\]"),
    ({"lam": 0.5, "gap": 0.5}, ValueError, r"exactly one of lam and gap"),
    ({"gap": [0.1, 0.2]}, ValueError, r"one for each of the 1 outputs"),
    ({"gap": [[0.1]]}, ValueError, r"gap.*output"),
    ({"criterion": "press"}, ValueError, r"criterion='press' is unknown; allowed are .*'kfold'"),
    ({"criterion": None}, ValueError, r"criterion=None is unknown; allowed are .*'kfold'"),
    ({"solver": "svd"}, ValueError, r"solver='svd' is unknown; allowed are 'auto', 'gram'"),
    ({"alpha": -1.0}, ValueError, r"alpha=-1\.0 must be a finite number of at least 0"),
    ({"alpha": np.inf}, ValueError, r"alpha=inf must be a finite number"),
    ({"alpha": np.nan}, ValueError, r"alpha=nan must be a finite number"),
    ({"alpha": "1"}, ValueError, r"alpha='1' must be a finite number"),
    ({"alpha": True}, ValueError, r"alpha=True must be a finite number"),
    ({"fit_intercept": "yes"}, TypeError, r"fit_intercept='yes' must be True or False"),
    ({"noise_variance": -1.0}, ValueError, r"noise_variance=-1\.0 must be finite and not neg"),
    ({"noise_variance": np.nan}, ValueError, r"noise_variance=nan must be finite"),
    ({"noise_variance": "huber"}, ValueError, r"noise_variance='huber' must be .*'paper'"),
    ({"noise_variance": [1.0, 2.0]}, ValueError, r"noise_variance=\[1\.0, 2\.0\] must be"),
    ({"cv": 1}, ValueError, r"cv=1 must be at least 2"),
    ({"cv": "5"}, TypeError, r"cv='5' must be an int, a splitter"),
    ({"cv": []}, ValueError, r"cv=\[\] gives no split"),
    ({"sample_weight": -np.ones(60)}, ValueError, r"Negative values .*sample_weight"),
    ({"sample_weight": np.full(60, np.nan)}, ValueError, r"sample_weight contains NaN"),
    ({"sample_weight": np.ones(3)}, ValueError, r"sample_weight.*\(3,\)"),
    ({"sample_weight": np.zeros(60)}, ValueError, r"[Ss]ample.weight.*zero"),
]


class TestRefusals:
    @pytest.mark.parametrize(("settings", "error", "match"), REFUSALS, ids=lambda v: str(v)[:40])
    def test_the_argument_its_value_and_what_is_allowed_are_named(self, settings, error, match):
        with pytest.raises(error, match=match):
            ncl_path(*noisy(), **settings)

    @pytest.mark.parametrize(
        "starts",
        [
            [0, 5],
            [0, 5, 5, 15],
            [1, 15],
            [0.0, 5.0, 15.0],
            [0, 10, 5, 15],
            [],
            [15],
            "abc",
            [[0, 15]],
        ],
        ids=str,
    )
    def test_block_starts_must_cut_the_features_into_blocks(self, starts):
        features, y, _ = noisy()
        match = r"block_starts=.* increasing integers from 0 to the number of features, 15"
        with pytest.raises(ValueError, match=match):
            ncl_path(features, y, starts)

    def test_bad_data_are_refused_by_name(self):
        features, y, starts = noisy()
        with pytest.raises(ValueError, match="y contains NaN"):
            ncl_path(features, np.full(60, np.nan), starts)
        with pytest.raises(ValueError, match="features contains infinity"):
            ncl_path(np.full_like(features, np.inf), y, starts)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ncl_path(features, y[:-1], starts)

    def test_rows_that_cannot_be_split_are_an_error_only_where_folds_are_asked_for(self):
        features, y = np.ones((6, 2)) * [1.0, 2.0], np.ones(6)
        with pytest.raises(ValueError, match=r"one fold.*criterion without folds"):
            ncl_path(features, y, [0, 1, 2])
        assert ncl_path(features, y, [0, 1, 2], criterion="sure").gap == 1.0


@pytest.mark.parametrize("criterion", ["kfold", "loo", "sure", "gcv", "aicc"])
@pytest.mark.parametrize("constant", [0.0, 2.5, 0.1, 1e6 / 3])
def test_rounding_of_constant_targets_chooses_no_gap(criterion, constant):
    X = np.random.default_rng(0).normal(size=(40, 2))
    options = {"noise_variance": "difference"} if criterion == "sure" else {}
    model = NCLRegressor(FourierFeatures(5, 3), criterion=criterion, **options)
    assert model.fit(X, np.full(40, constant)).gap_ == 1.0
