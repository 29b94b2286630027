"""Features of a kernel's own space: all together they are the kernel, and more of them go on."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from sklearn.kernel_ridge import KernelRidge

from negcorr.bases import KernelFeatures
from negcorr.bases import kernel_features as module
from negcorr.bases.kernel_features import ridge_gap
from negcorr.bases.kernel_functions import KERNEL_VALUES, kwok_tsang_gamma

NAMES = ["rbf", "laplacian", "cauchy", "linear"]

every_kernel = pytest.mark.parametrize("kernel", NAMES)

#: One stage; two whole ones; two and a half.
every_size = pytest.mark.parametrize("n_members", [4, 8, 10])


@pytest.fixture(autouse=True)
def short_stages(monkeypatch):
    monkeypatch.setattr(module, "STAGE", 20)


def table(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(n_members=10, width=5, X=None, **settings):
    given = {"gamma": 0.5, "inputs": "none", "random_state": 0} | settings
    return KernelFeatures(n_members, width, **given).fit(table() if X is None else X)


def literal(kernel, X, Z, gamma):
    """The kernels, pair by pair."""
    difference = X[:, np.newaxis] - Z
    return {
        "rbf": lambda: np.exp(-gamma * (difference**2).sum(axis=2)),
        "laplacian": lambda: np.exp(-gamma * np.abs(difference).sum(axis=2)),
        "cauchy": lambda: np.prod(1.0 / (1.0 + gamma * difference**2), axis=2),
        "linear": lambda: gamma * X @ Z.T,
    }[kernel]()


def widths(basis):
    return np.diff(basis.block_starts_).tolist()


class TestKernel:
    @every_kernel
    @every_size
    def test_is_reproduced_at_the_landmarks(self, kernel, n_members):
        basis = fitted(n_members, kernel=kernel)
        rows = basis.landmarks_
        features = basis.transform(rows)
        expected = literal(kernel, rows, rows, 0.5)
        np.testing.assert_allclose(features @ features.T / 20, expected, rtol=0, atol=1e-7)

    @every_kernel
    @every_size
    def test_is_approximated_by_the_landmarks_elsewhere(self, kernel, n_members):
        basis, X = fitted(n_members, kernel=kernel), table(30, seed=1)
        rows = basis.landmarks_
        across, between = literal(kernel, X, rows, 0.5), literal(kernel, rows, rows, 0.5)
        expected = across @ np.linalg.pinv(between, rcond=1e-12, hermitian=True) @ across.T
        features = basis.transform(X)
        np.testing.assert_allclose(features @ features.T / 20, expected, rtol=0, atol=1e-6)

    @every_kernel
    def test_is_reproduced_between_all_rows_that_are_landmarks(self, kernel):
        X = table(24)
        features = fitted(6, 4, X, kernel=kernel).transform(X)
        np.testing.assert_allclose(
            features @ features.T / 20, literal(kernel, X, X, 0.5), rtol=0, atol=1e-7
        )

    @every_kernel
    @every_size
    def test_calls_its_features_orthonormal(self, kernel, n_members):
        basis = fitted(n_members, kernel=kernel, gamma=1.0)
        rows = basis.landmarks_
        # A function of the span has the squared norm fᵀK⁻¹f, f its values at the landmarks.
        values, features = literal(kernel, rows, rows, 1.0), basis.transform(rows)
        inverse = np.linalg.pinv(values, rcond=1e-12, hermitian=True)
        expected = 20 * np.eye(features.shape[1])
        np.testing.assert_allclose(features.T @ inverse @ features, expected, rtol=0, atol=1e-6)

    def test_gives_features_of_mean_square_one_in_the_first_stage(self):
        basis = fitted(4, 5, kernel="laplacian")
        assert np.mean(basis.transform(basis.landmarks_) ** 2) == pytest.approx(1.0, rel=1e-9)

    def test_gives_features_of_mean_square_one_where_landmarks_are_few(self):
        basis = fitted(2, 4, kernel="laplacian")
        features = basis.transform(basis.landmarks_)
        assert np.mean(features**2) == pytest.approx(1.0, rel=1e-9)
        np.testing.assert_allclose(
            features @ features.T / 8,
            literal("laplacian", basis.landmarks_, basis.landmarks_, 0.5),
            atol=1e-9,
        )

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(2, 70),
        d=st.integers(1, 4),
        n_members=st.integers(1, 14),
        width=st.integers(1, 7),
        kernel=st.sampled_from(NAMES),
        gamma=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    )
    def test_is_reproduced_for_any_shape(self, seed, n, d, n_members, width, kernel, gamma):
        X = table(n, d, seed)
        basis = fitted(n_members, width, X, kernel=kernel, gamma=gamma)
        rows = basis.landmarks_
        count = min(n, n_members * width)
        assert len(rows) == count
        features = basis.transform(rows)
        assert features.shape == (count, basis.block_starts_[-1])
        assert basis.block_starts_[-1] <= count
        expected = literal(kernel, rows, rows, gamma)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            features @ features.T / min(count, 20), expected, rtol=0, atol=1e-6 * scale
        )


class TestLandmarks:
    @pytest.mark.parametrize("inputs", ["none", "standard"])
    def test_are_distinct_rows_of_the_table(self, inputs):
        basis = fitted(inputs=inputs)
        scaled = basis.input_map_(table())
        matches = (np.abs(basis.landmarks_[:, np.newaxis] - scaled) < 1e-12).all(axis=2)
        np.testing.assert_array_equal(matches.sum(axis=1), np.ones(50))
        assert len(np.unique(matches.argmax(axis=1))) == 50

    @every_kernel
    @pytest.mark.parametrize("seed", range(3))
    def test_and_features_do_not_move_with_order_repeats_or_weights(self, kernel, seed):
        X, rng = table(), np.random.default_rng(seed)
        repeats = rng.integers(1, 4, len(X))
        shuffled = rng.permutation(np.repeat(np.arange(len(X)), repeats))
        one = fitted(kernel=kernel)
        for other in (
            fitted(kernel=kernel, X=X[rng.permutation(len(X))]),
            fitted(kernel=kernel, X=X[shuffled]),
        ):
            np.testing.assert_array_equal(other.landmarks_, one.landmarks_)
            np.testing.assert_array_equal(other.transform(X), one.transform(X))
        weighted = KernelFeatures(10, 5, kernel=kernel, gamma=0.5, random_state=0, inputs="none")
        weighted.fit(X, sample_weight=rng.uniform(0.5, 9.0, len(X)))
        np.testing.assert_array_equal(weighted.transform(X), one.transform(X))

    def test_are_never_rows_without_weight(self):
        X, weight = table(), (np.arange(60) < 25).astype(float)
        wild = np.where(weight[:, np.newaxis] > 0, X, 1e12)
        basis = KernelFeatures(10, 5, random_state=0, inputs="none")
        features = basis.fit(wild, sample_weight=weight).transform(X)
        np.testing.assert_array_equal(features, fitted(X=X[:25], gamma="kwok-tsang").transform(X))

    @pytest.mark.parametrize(
        ("n", "expected"), [(7, [7]), (8, [4, 4]), (13, [4, 4, 5]), (20, [5, 5, 5, 5])]
    )
    def test_are_all_distinct_rows_where_these_are_fewer(self, n, expected):
        X = np.repeat(table(n), 2, axis=0)
        basis = fitted(X=X, kernel="laplacian")
        assert basis.landmarks_.shape == (n, 3)
        assert widths(basis) == expected
        assert basis.n_members_ == len(expected)
        features = basis.transform(X)
        expected = literal("laplacian", X, X, 0.5)
        np.testing.assert_allclose(features @ features.T / n, expected, atol=1e-9)

    def test_and_rotations_follow_the_seed(self):
        X = table()
        one, same, other = (fitted(random_state=seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.transform(X), same.transform(X))
        assert not np.array_equal(one.landmarks_, other.landmarks_)
        # With all rows as landmarks rotations are all that is left.
        whole, turned = (fitted(12, random_state=seed).transform(X) for seed in (0, 1))
        assert not np.allclose(np.sort(whole[:20], axis=1), np.sort(turned[:20], axis=1))
        np.testing.assert_allclose(whole @ whole.T, turned @ turned.T, atol=1e-6)


def test_signs_of_eigenvectors_do_not_matter(monkeypatch):
    X, eigh = table(), np.linalg.eigh
    one = fitted(kernel="laplacian").transform(X)

    def turned(matrix):
        values, vectors = eigh(matrix)
        return values, vectors * np.where(np.arange(len(values)) % 3 == 0, -1.0, 1.0)

    monkeypatch.setattr(np.linalg, "eigh", turned)
    np.testing.assert_allclose(fitted(kernel="laplacian").transform(X), one, rtol=0, atol=1e-6)


def test_stages_are_made_again_and_not_stored():
    X = table(300)
    basis = fitted(60, 5, X, kernel="laplacian")
    stored = pickle.dumps(basis)
    # Landmarks, and little more: the stages would be as many numbers as landmarks squared.
    assert len(stored) < 2 * basis.landmarks_.nbytes + 10_000 < 300 * 300 * 8
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.transform(X), basis.transform(X))


class TestGrowth:
    @every_kernel
    @pytest.mark.parametrize("width", [1, 4, 5, 10])
    def test_by_whole_stages_begins_with_the_same_members(self, kernel, width):
        X = table(100)
        small, middle, large = (
            fitted(count // width, width, X, kernel=kernel) for count in (20, 40, 80)
        )
        for few, many in ((small, middle), (middle, large), (small, large)):
            known = int(few.block_starts_[-1])
            np.testing.assert_array_equal(many.landmarks_[: len(few.landmarks_)], few.landmarks_)
            np.testing.assert_array_equal(
                many.block_starts_[: few.n_members_ + 1], few.block_starts_
            )
            np.testing.assert_allclose(
                many.transform(X)[:, :known], few.transform(X), rtol=1e-9, atol=1e-9
            )
        if kernel != "linear":
            assert large.n_members_ == 4 * small.n_members_

    def test_adds_what_the_landmarks_before_cannot_express(self):
        X = table(100)
        few, many = fitted(4, 5, X, kernel="laplacian"), fitted(8, 5, X, kernel="laplacian")
        rows = few.landmarks_
        assert (np.abs(many.transform(rows)[:, 20:]) < 1e-7).all()
        assert np.abs(many.transform(X)[:, 20:]).max() > 0.1

    def test_adds_nothing_to_a_linear_kernel_that_is_complete(self):
        few, many = fitted(4, 5, kernel="linear"), fitted(12, 5, kernel="linear")
        assert widths(few) == widths(many) == [1, 1, 1]
        assert [stage.weights.shape[1] for stage in many.stages_] == [3, 0, 0]
        np.testing.assert_allclose(many.transform(table()), few.transform(table()), atol=1e-12)

    def test_within_a_stage_is_another_ensemble(self):
        X = table(100)
        few, many = fitted(3, 5, X), fitted(4, 5, X)
        assert not np.allclose(many.transform(X)[:, :15], few.transform(X))


class TestMembers:
    @pytest.mark.parametrize(
        ("n_members", "width", "expected"),
        [(3, 4, [4, 4, 4]), (7, 3, [2, 3, 3, 3, 3, 3, 3, 1]), (1, 30, [20, 10]), (2, 1, [1, 1])],
    )
    def test_share_the_features_of_each_stage(self, n_members, width, expected):
        basis = fitted(n_members, width, kernel="laplacian")
        assert widths(basis) == expected
        assert sum(stage.weights.shape[1] for stage in basis.stages_) == sum(expected)

    @every_kernel
    def test_differ(self, kernel):
        X, basis = table(), fitted(kernel=kernel)
        features = basis.transform(X)
        blocks = [features[:, a:b] for a, b in itertools.pairwise(basis.block_starts_)]
        for one, other in itertools.combinations(blocks, 2):
            assert one.shape != other.shape or not np.allclose(one, other, atol=1e-3)

    def test_are_narrower_where_kernels_are_nearly_dependent(self):
        X = np.linspace(0.0, 1.0, 40)[:, np.newaxis]
        basis = fitted(8, 5, X, gamma=0.1)
        features = basis.transform(X)
        assert 3 <= features.shape[1] < 10
        assert sum(widths(basis)) == features.shape[1]
        assert basis.n_members_ == 4
        assert np.isfinite(features).all()
        np.testing.assert_allclose(features @ features.T / 20, literal("rbf", X, X, 0.1), atol=1e-6)

    def test_of_nearly_equal_rows_are_finite(self):
        X = 1.0 + 1e-7 * table(30)
        features = fitted(X=X, gamma=1.0).transform(X)
        assert features.shape == (30, 1)
        np.testing.assert_allclose(features**2, 20.0, rtol=1e-6)


class TestColumns:
    @every_kernel
    @pytest.mark.parametrize("inputs", ["none", "standard"])
    def test_that_do_not_vary_do_no_harm(self, kernel, inputs):
        X = np.column_stack([table(), np.full(60, 0.1), np.zeros(60), np.full(60, 3.0)])
        basis = fitted(12, 5, X, kernel=kernel, inputs=inputs)
        assert (basis.input_map_.scale[3:] == 1.0).all()
        features = basis.transform(X)
        assert np.isfinite(features).all()
        seen = basis.input_map_(X)
        expected = literal(kernel, seen, seen, 0.5)
        np.testing.assert_allclose(features @ features.T / 20, expected, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy"])
    @pytest.mark.parametrize("inputs", ["none", "standard"])
    @pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
    def test_of_equal_rows_make_one_feature_that_does_not_vary(self, kernel, inputs, value):
        X = np.full((10, 2), value)
        basis = KernelFeatures(3, 4, kernel=kernel, inputs=inputs, random_state=0).fit(X)
        np.testing.assert_array_equal(basis.block_starts_, [0, 1])
        np.testing.assert_allclose(np.abs(basis.transform(X)), np.ones((10, 1)), rtol=1e-12)

    @pytest.mark.parametrize("inputs", ["none", "standard"])
    def test_of_equal_rows_are_no_trouble_for_a_linear_kernel(self, inputs):
        X = np.zeros((10, 2))
        basis = KernelFeatures(3, 4, kernel="linear", inputs=inputs, random_state=0)
        features = basis.fit(X).transform(X)
        np.testing.assert_array_equal(features, np.zeros_like(features))

    def test_are_standardised_by_default(self):
        X = table() * [1.0, 50.0, 1e-3] + [3.0, 0.0, -7.0]
        basis = KernelFeatures(10, 5, gamma=0.5, random_state=0).fit(X)
        learnt = basis.input_map_
        assert (np.abs(learnt.center - X.mean(axis=0)) < 1e-7 * X.std(axis=0)).all()
        np.testing.assert_allclose(learnt.scale, X.std(axis=0), rtol=1e-7)
        rows = basis.landmarks_ * learnt.scale + learnt.center
        features = basis.transform(rows)
        expected = literal("rbf", basis.landmarks_, basis.landmarks_, 0.5)
        np.testing.assert_allclose(features @ features.T / 20, expected, rtol=0, atol=1e-6)

    @every_kernel
    def test_decide_the_bandwidth_unless_it_is_given(self, kernel):
        X, like = table(), "rbf" if kernel == "linear" else kernel
        assert fitted(kernel=kernel, gamma=0.3).gamma_ == 0.3
        assert fitted(kernel=kernel, gamma="kwok-tsang").gamma_ == kwok_tsang_gamma(X, None, like)


class TestSparse:
    def tables(self):
        X, new = table(), table(9, seed=1)
        return [np.where(np.abs(rows) < 0.5, 0.0, rows + 1.0) for rows in (X, new)]

    @pytest.mark.parametrize("inputs", ["none", "standard"])
    @pytest.mark.parametrize("kernel", NAMES)
    def test_rows_have_the_features_of_dense_ones(self, kernel, inputs):
        X, new = self.tables()
        settings = {"kernel": kernel, "inputs": inputs}
        dense, sparse = fitted(X=X, **settings), fitted(X=sp.csr_array(X), **settings)
        # Products see the centre, which distances do not.
        assert sp.issparse(sparse.landmarks_) == (kernel != "linear")
        for basis in (dense, sparse):
            expected = basis.transform(new)
            found = basis.transform(sp.csr_array(new))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        one, other = dense.transform(new), sparse.transform(new)
        np.testing.assert_allclose(other @ other.T, one @ one.T, rtol=0, atol=1e-6)


class TestMistakes:
    @pytest.mark.parametrize("kernel", ["gaussian", "", None, 3])
    def test_in_the_kernel_are_named_with_what_is_allowed(self, kernel):
        with pytest.raises(ValueError, match="kernel=") as caught:
            fitted(kernel=kernel)
        assert f"kernel={kernel!r}" in str(caught.value)
        assert all(repr(name) in str(caught.value) for name in NAMES)
        assert set(NAMES) == set(KERNEL_VALUES)

    @every_kernel
    @pytest.mark.parametrize(
        ("gamma", "error", "says"),
        [
            ("scale", ValueError, "gamma='scale'.*'kwok-tsang'"),
            (0.0, ValueError, "gamma=0.0.*greater than 0"),
            (-1.5, ValueError, "gamma=-1.5.*greater than 0"),
            (np.nan, ValueError, "gamma=nan.*finite"),
            (None, TypeError, "gamma=None.*number > 0 or 'kwok-tsang'"),
            (True, TypeError, "gamma=True.*number > 0 or 'kwok-tsang'"),
        ],
    )
    def test_in_the_bandwidth_are_named_with_what_is_allowed(self, kernel, gamma, error, says):
        with pytest.raises(error, match=says):
            fitted(kernel=kernel, gamma=gamma)


def waves(n=60, outputs=1):
    X = table(n, 2)
    y = np.sin(2.0 * X[:, :1]) + np.arange(1.0, outputs + 1) * X[:, 1:]
    return X, y - y.mean(axis=0)


def ncl_at(ridge, alpha, X, y, n_landmarks, weight=None, kernel="laplacian", **settings):
    """Predictions of the ensemble that is nearest to kernel ridge regression."""
    basis = KernelFeatures(
        n_landmarks // 5, 5, kernel=kernel, gamma=0.5, random_state=0, inputs="none"
    )
    mass = len(X) if weight is None else weight.sum()
    gap = ridge_gap(ridge, mass, n_landmarks, n_landmarks // 5, alpha)
    model = ncl(basis=basis, gap=gap, alpha=alpha, **settings)
    return model.fit(X, y, sample_weight=weight)


class TestRidgeGap:
    @pytest.mark.parametrize("ridge", [1e-3, 0.1, 3.0])
    @pytest.mark.parametrize("kernel", ["laplacian", "rbf", "cauchy"])
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_with_a_large_ridge_inside_is_kernel_ridge_regression(self, ridge, kernel, outputs):
        X, y = waves(outputs=outputs)
        model = ncl_at(ridge, 1e7, X, y, 60, kernel=kernel, fit_intercept=False, solver="qr")
        dual = np.linalg.solve(literal(kernel, X, X, 0.5) + ridge * np.eye(60), y)
        new = table(25, 2, seed=1)
        expected = literal(kernel, new, X, 0.5) @ dual
        np.testing.assert_allclose(model.predict(new).reshape(25, -1), expected, atol=1e-4)

    def test_is_near_scikit_learns_with_an_intercept(self):
        X, y = waves()
        theirs = KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.5).fit(X, y[:, 0])
        model = ncl_at(0.3, 1e5, X, y[:, 0], 60)
        new = table(25, 2, seed=1)
        np.testing.assert_allclose(model.predict(new), theirs.predict(new), atol=0.05)
        far = ncl_at(30.0, 1e5, X, y[:, 0], 60)
        assert np.abs(far.predict(new) - theirs.predict(new)).max() > 0.5

    def test_holds_for_weights_that_are_frequencies(self):
        X, y = waves()
        weight = np.random.default_rng(2).integers(1, 5, 60).astype(float)
        model = ncl_at(0.3, 1e7, X, y[:, 0], 60, weight, fit_intercept=False, solver="qr")
        theirs = KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.5)
        theirs.fit(X, y[:, 0], sample_weight=weight)
        np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-4)

    def test_comes_nearer_as_the_ridge_inside_grows(self):
        X, y = waves()
        theirs = KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.5).fit(X, y[:, 0]).predict(X)
        errors = [
            np.abs(ncl_at(0.3, alpha, X, y[:, 0], 60, fit_intercept=False).predict(X) - theirs)
            for alpha in (1.0, 10.0, 100.0, 1000.0)
        ]
        worst = [float(error.max()) for error in errors]
        assert all(b < 0.3 * a for a, b in itertools.pairwise(worst))

    def test_knows_that_features_are_scaled_in_the_first_stage(self):
        X, y = waves()
        small = ncl_at(0.3, 1e7, X, y[:, 0], 15, fit_intercept=False)
        rows = small.basis_.landmarks_
        across, between = literal("laplacian", X, rows, 0.5), literal("laplacian", rows, rows, 0.5)
        # Kernel ridge regression in the span of the landmarks.
        dual = np.linalg.solve(across.T @ across + 0.3 * between, across.T @ y[:, 0])
        np.testing.assert_allclose(small.predict(X), across @ dual, atol=1e-4)

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(
        ridge=st.floats(1e-8, 1e3),
        weight=st.floats(1.0, 1e6),
        n_landmarks=st.integers(1, 3000),
        n_members=st.integers(1, 300),
        alpha=st.floats(0.0, 1e3),
    )
    def test_solves_what_it_says(self, ridge, weight, n_landmarks, n_members, alpha):
        gap = ridge_gap(ridge, weight, n_landmarks, n_members, alpha)
        assert 0.0 < gap < 1.0
        square = min(n_landmarks, 20)
        spread = square / n_landmarks
        found = weight * n_members * (alpha + spread) * gap / (1.0 - gap) / square
        # Near one, one minus the gap has few digits left.
        assert found == pytest.approx(ridge, rel=1e-12 + 1e-15 / (1.0 - gap))


def test_the_rounding_of_rows_changes_little_where_kernels_of_two_stages_depend(monkeypatch):
    monkeypatch.setattr(module, "STAGE", 500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 1e-3 * rng.normal(size=1500)
    jitter = 1.0 + 2.0**-52 * rng.integers(-1, 2, size=X.shape)
    basis = KernelFeatures(100, 10, gamma=0.1, inputs="none", random_state=0)
    one, other = (ncl(basis=basis).fit(rows, y) for rows in (X, X * jitter))
    assert other.basis_.stage_ranks_ == one.basis_.stage_ranks_
    assert max(one.basis_.stage_ranks_) < 400
    assert other.gap_ == one.gap_
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=0, atol=1e-6 * y.std())


def test_a_row_alone_has_the_features_that_it_has_in_a_batch_in_every_stage(monkeypatch):
    """Kernels of 300 landmarks in two stages depend: rounding of the first stays there."""
    monkeypatch.setattr(module, "STAGE", 150)
    X = np.random.default_rng(0).normal(size=(300, 2))
    basis = KernelFeatures(30, 10, kernel="rbf", random_state=0).fit(X)
    batch = basis.transform(X)
    alone = np.vstack([basis.transform(X[i : i + 1]) for i in range(60)])
    assert basis.terms_.max() < 1e6
    np.testing.assert_allclose(alone, batch[:60], rtol=0, atol=1e-9)
