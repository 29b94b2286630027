"""Graphs of ensembles of kernels, which the default chooses: maps, weights, members, precision."""

import re
import warnings

import numpy as np
import onnx
import pytest
import scipy.sparse as sp
from graph_runs import run
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import NCLRegressor, to_onnx
from negcorr.bases import (
    Basis,
    FourierFeatures,
    KernelFeatures,
    NestedFeatures,
    TreeFeatures,
)
from negcorr.exceptions import PrecisionWarning

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 4)) * [1.0, 5.0, 0.1, 2.0] + [0.0, 100.0, -3.0, 7.0]
X[:, 3] = np.round(X[:, 3])
Z = (X - X.mean(axis=0)) / X.std(axis=0)
Y = 10.0 * np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2] + 3.0 * RNG.normal(size=N) + 50.0
BOTH = np.column_stack([Y, 1e-3 * (Z[:, 3] ** 2 + Z[:, 0] + RNG.normal(size=N))])
NEW = RNG.normal(size=(100, 4)) * 1.5 * X.std(axis=0) + X.mean(axis=0)
RELEVANCE = [1.0, 0.5, 0.0, 2.0]


def off(outputs, wanted, target=Y):
    """Largest error in standard deviations of the target."""
    assert outputs.shape == wanted.shape
    return float(np.max(np.abs(outputs - wanted) / target.std(axis=0), initial=0.0))


def check(model, rows=NEW, target=Y, members=True):
    """That graphs of the model say what it says; the type that "auto" takes."""
    wanted = model.predict(rows)
    (y, *_), kind = run(to_onnx(model), rows)
    assert off(y, wanted, target) <= 1e-5
    (y, *each), _ = run(to_onnx(model, dtype="float64", members=members), rows)
    assert off(y, wanted, target) <= 1e-9
    if members:
        assert off(each[0], model.predict_members(rows), target) <= 1e-7
    return kind


def kernels(kernel="rbf", n_members=12, **parameters):
    return KernelFeatures(n_members, 10, kernel=kernel, **parameters)


def ncl(basis, gap=0.1, **parameters):
    return NCLRegressor(basis, **{"gap": gap, "alpha": 10.0} | parameters)


@pytest.fixture(scope="module")
def diabetes():
    rows, target = load_diabetes(return_X_y=True)
    return NCLRegressor().fit(rows, target), rows, target


@pytest.fixture(scope="module")
def nested():
    bases = [
        kernels(relevance=RELEVANCE, random_state=0),
        kernels("laplacian", random_state=0),
        FourierFeatures(5, 4, orthogonal=True, inputs="rank", random_state=0),
        FourierFeatures(6, 3, random_state=0),
        kernels("linear", inputs="clip", random_state=0),
    ]
    return NestedFeatures(bases, [1e-3, 1e-2, 0.1, 0.5, 1e-4])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy"])
@pytest.mark.parametrize("mapped", [False, True])
def test_kernels_of_subspaces(kernel, mapped):
    basis = kernels(kernel, subspace=0.4, inputs="clip" if mapped else "standard")
    check(ncl(basis).fit(X, Y))


def test_fourier_features_of_subspaces():
    check(ncl(FourierFeatures(6, 3, subspace=0.4)).fit(X, Y))


def test_the_default_on_data_that_everybody_has(diabetes):
    model, rows, target = diabetes
    assert isinstance(model.basis_, NestedFeatures)
    new = rows + 0.01 * RNG.normal(size=rows.shape)
    assert check(model, new, target) is np.float64


def test_the_default_on_several_outputs():
    model = NCLRegressor().fit(X, BOTH)
    assert isinstance(model.basis_, NestedFeatures)
    check(model, target=BOTH)


@pytest.mark.parametrize("target", [Y, BOTH], ids=["one", "two"])
@pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy", "linear"])
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_every_kernel_on_columns_of_every_kind(kernel, inputs, target):
    basis = kernels(kernel, inputs=inputs, relevance=RELEVANCE)
    check(ncl(basis).fit(X, target), target=target)


@pytest.mark.parametrize("target", [Y, BOTH], ids=["one", "two"])
def test_members_of_every_kind_together(nested, target):
    model = ncl(nested).fit(X, target)
    check(model, target=target)


@pytest.mark.parametrize(
    "basis",
    [
        kernels(inputs="none"),
        kernels(),
        kernels("linear"),
        kernels("cauchy", n_members=1),
        FourierFeatures(5, 4, inputs="rank"),
        FourierFeatures(5, 4, inputs="clip", relevance=RELEVANCE),
        FourierFeatures(5, 4, relevance=RELEVANCE),
        kernels("laplacian", relevance=RELEVANCE, inputs="rank"),
        NestedFeatures([kernels(gamma=0.01, random_state=0)], [0.01]),
    ],
    ids=lambda basis: re.sub(r"\s+", " ", str(basis)),
)
def test_one_basis_with_or_without_a_map(basis):
    check(ncl(basis).fit(X, Y))


@pytest.mark.parametrize("parameters", [{"criterion": "loo"}, {"basis": "kernel"}], ids=str)
def test_a_single_choice_of_the_search(parameters):
    model = NCLRegressor(**parameters).fit(X, Y)
    assert not isinstance(model.basis_, NestedFeatures)
    check(model)


def test_landmarks_in_several_stages(monkeypatch):
    monkeypatch.setattr("negcorr.bases.kernel_features.STAGE", 30)
    for kernel in ("rbf", "laplacian", "linear"):
        model = ncl(kernels(kernel)).fit(X, BOTH)
        assert len(model.basis_.stages_) == 4
        check(model, target=BOTH)


@pytest.mark.parametrize("n_rows", [0, 1, 7])
@pytest.mark.parametrize("target", [Y, BOTH], ids=["one", "two"])
def test_any_number_of_rows(nested, target, n_rows):
    for basis in (nested, kernels("laplacian", inputs="rank"), kernels("linear")):
        model = ncl(basis).fit(X, target)
        (y, members), _ = run(to_onnx(model, members=True, dtype="float64"), NEW[:n_rows])
        shape = (n_rows, *target.shape[1:])
        assert (y.shape, members.shape) == (shape, (model.basis_.n_members_, *shape))
        if n_rows:
            assert off(y, model.predict(NEW[:n_rows]), target) <= 1e-9


def test_ranks_at_knots_between_and_beyond_them():
    rows = np.column_stack([np.arange(N) // 40, np.full(N, 3.5), RNG.standard_cauchy(N), X[:, 0]])
    model = ncl(kernels("laplacian", inputs="rank")).fit(rows, Y)
    knots = model.basis_.input_map_.knots[:, :8].T
    beyond = np.array([[-1.0, 0.0, -1e9, -1e300], [9.0, 7.0, 1e9, 1e300]])
    between = 0.3 * rows[:-1] + 0.7 * rows[1:]
    (y,), _ = run(to_onnx(model, dtype="float64"), new := np.vstack([rows, knots, beyond, between]))
    assert off(y, model.predict(new)) <= 1e-9


def test_ranks_of_columns_whose_knots_single_precision_cannot_tell():
    far = X + 1e6 * X.std(axis=0)
    model = ncl(kernels("laplacian", inputs="rank")).fit(far, Y)
    assert check(model, NEW + 1e6 * X.std(axis=0)) is np.float64
    with pytest.warns(PrecisionWarning):
        proto = to_onnx(model, dtype="float32")
    (y,), _ = run(proto, far)
    assert off(y, model.predict(far)) < 1.0


HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
NEW_HOLES = np.where(RNG.random(NEW.shape) < 0.1, np.nan, NEW)


def test_pipelines(nested):
    check(make_pipeline(StandardScaler(), ncl(nested)).fit(X, Y), members=False)
    model = make_pipeline(SimpleImputer(), StandardScaler(), NCLRegressor())
    model.fit(HOLES, Y)
    (y, members), _ = run(to_onnx(model, members=True, dtype="float64"), NEW_HOLES)
    assert off(y, model.predict(NEW_HOLES)) <= 1e-9
    assert off(members.mean(axis=0), model.predict(NEW_HOLES)) <= 1e-7


def test_single_precision_is_taken_where_it_holds():
    kinds = {}
    for kernel in ("laplacian", "linear", "rbf"):
        for gap in (0.5, 1e-5):
            model = ncl(kernels(kernel), gap).fit(X, Y)
            kinds[kernel, gap] = check(model)
    assert kinds["laplacian", 0.5] is kinds["linear", 0.5] is kinds["linear", 1e-5] is np.float32
    assert kinds["rbf", 1e-5] is np.float64


def test_what_a_warning_says_of_single_precision_is_what_it_does(diabetes):
    model, rows, target = diabetes
    with pytest.warns(PrecisionWarning, match="standard deviations of the target") as caught:
        proto = to_onnx(model, dtype="float32")
    assert caught[0].filename == __file__
    said = float(re.search(r"by (\S+) standard", str(caught[0].message))[1])
    (y,), kind = run(proto, rows)
    assert kind is np.float32
    assert said / 3.0 <= off(y, model.predict(rows), target) <= 3.0 * said


def test_a_compact_model_gets_double_precision(diabetes):
    model, rows, target = diabetes
    small = model.compact()
    (y,), kind = run(to_onnx(small), rows)
    assert kind is np.float64
    assert off(y, model.predict(rows), target) <= 1e-9
    with pytest.warns(PrecisionWarning, match="cannot be tried"):
        to_onnx(small, dtype="float32")


def test_columns_far_from_zero_that_nobody_centred():
    # About zero, single precision would lose distances in squared lengths.
    model = ncl(kernels(gamma=0.01, inputs="none"), gap=1.0).fit(X + 300.0, Y)
    assert check(model, NEW + 300.0) is np.float32


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_sparse_rows(kernel):
    rows = sp.csr_array(np.where(np.abs(Z) > 0.7, Z + 1.0, 0.0))
    for basis in (
        kernels(kernel),
        kernels(kernel, inputs="none"),
    ):
        model = ncl(basis).fit(rows, Y)
        (y,), _ = run(to_onnx(model, dtype="float64"), rows.toarray())
        assert off(y, model.predict(rows)) <= 1e-9


def test_nothing_is_larger_than_rows_times_landmarks(nested):
    proto = onnx.shape_inference.infer_shapes(to_onnx(ncl(nested).fit(X, Y)), strict_mode=True)
    shapes = [
        [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in proto.graph.value_info
    ]
    assert len(shapes) > 50
    assert all(len(shape) <= 2 for shape in shapes)
    assert max(shape[1] for shape in shapes if len(shape) == 2) <= 128


class Strange(Basis):
    """A basis of which nothing is known."""

    def fit(self, X, y=None, sample_weight=None):
        self._validate(X, reset=True)
        self.block_starts_ = np.arange(X.shape[1] + 1)
        return self

    def fill(self, X, out):
        out[...] = X


class Own(KernelFeatures):
    """A basis that may do something else."""


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (TreeFeatures(5, 4), "basis TreeFeatures of step 'model'"),
        (
            TreeFeatures(5, 4, inputs="rank"),
            "basis TreeFeatures of step 'model'",
        ),
        (
            NestedFeatures(
                [kernels(random_state=0), TreeFeatures(5, 4, random_state=0)], [0.1, 0.1]
            ),
            "basis TreeFeatures of member 1 of step 'model'",
        ),
        (Strange(), "basis Strange of step 'model'"),
        (Own(5, 4), "basis Own of step 'model'"),
    ],
    ids=["trees", "mapped", "nested", "strange", "own"],
)
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_bases_without_a_form_are_named_and_others_offered(basis, words):
    model = ncl(basis).fit(X, Y)
    with pytest.raises(
        ValueError, match=f"{words} has no form.*allowed are KernelFeatures and Four"
    ):
        to_onnx(model)


def test_no_warnings_where_single_precision_overflows():
    model = ncl(kernels("laplacian")).fit(X * 1e100, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (y,), kind = run(to_onnx(model), NEW * 1e100)
    assert kind is np.float64
    assert off(y, model.predict(NEW * 1e100)) <= 1e-9
    with pytest.warns(PrecisionWarning, match="by inf"):
        to_onnx(model, dtype="float32")
