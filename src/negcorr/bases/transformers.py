"""Any scikit-learn transformer as a basis: one cloned per member, or a list of M."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    has_fit_parameter,
)

from negcorr._common.types import AnyArray, FloatArray, Table
from negcorr._common.validation import check_positive_int, check_weight, validate_table
from negcorr.bases.basis import Basis
from negcorr.bases.input_maps import InputMap, fit_input_map
from negcorr.exceptions import IdenticalMembersWarning
from negcorr.rows.keys import RowKeys
from negcorr.rows.rows import Rows

__all__ = ["BlockFeatures", "ClonedFeatures"]

_ROWS_COMPARED = 256


class _TransformerBasis(Basis):
    """Fits one transformer per member on X alone and sets their outputs side by side."""

    thread_safe: ClassVar[bool] = False

    inputs: str
    relevance: Any
    input_map_: InputMap | None

    @abstractmethod
    def _named_transformers(self) -> list[tuple[str, Any]]:
        """Unfitted transformers of all members, each with a name."""

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit every member's transformer on X.

        Parameters
        ----------
        X : table of shape (n, d)
            Inputs, given to the transformers as they are unless ``inputs`` or ``relevance`` ask
            for something else.
        y : ignored
            Features never see y.
        sample_weight : array-like of shape (n,), optional
            Handed to the transformers whose fit takes it.

        Returns
        -------
        self
        """
        named = self._named_transformers()
        table = self._validate(X, reset=True)
        target = np.empty((table.shape[0], 0))
        # What tables hold is for the transformers to say: no keys are needed to fit them.
        none = np.empty(0, dtype=np.uint64)
        weight = check_weight(sample_weight, table)
        return self._fit_named(named, Rows(table, target, weight, RowKeys(none, none)))

    def fit_rows(self, rows: Rows) -> Self:
        return self._fit_named(self._named_transformers(), rows)

    def _fit_named(self, named: list[tuple[str, Any]], rows: Rows) -> Self:
        X, sample_weight = rows.X, rows.weight
        self.n_features_in_ = int(X.shape[1])
        self.input_map_ = None
        if self._maps_columns():
            more = self.relevance, rows.as_they_are
            self.input_map_ = fit_input_map(self.inputs, X, sample_weight, *more)
            X = self.input_map_(X)
        self.transformers_ = [(name, _fitted(t, X, sample_weight)) for name, t in named]
        sample = _safe_indexing(X, np.arange(min(X.shape[0], _ROWS_COMPARED)))
        blocks = [_dense(t.transform(sample), name) for name, t in self.transformers_]
        widths = [block.shape[1] for block in blocks]
        self.block_starts_ = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        _warn_if_identical(blocks)
        return self

    def transform(self, X: Table) -> AnyArray:
        """Features of all M members, side by side.

        Parameters
        ----------
        X : table of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (n, Q)
            In the common type of what the transformers return.
        """
        check_is_fitted(self)
        X = self._mapped(self._validate(X, reset=False))
        return np.hstack([_dense(t.transform(X), name) for name, t in self.transformers_])

    def fill(self, X: Table, out: FloatArray) -> None:
        X = self._mapped(X)
        for (name, transformer), start, stop in zip(
            self.transformers_, self.block_starts_[:-1], self.block_starts_[1:], strict=True
        ):
            out[:, start:stop] = _dense(transformer.transform(X), name)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns, ``<transformer>__<feature>``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        widths = np.diff(self.block_starts_)
        names: list[str] = []
        for (name, transformer), width in zip(self.transformers_, widths, strict=True):
            if hasattr(transformer, "get_feature_names_out"):
                features = transformer.get_feature_names_out(given)
            else:
                features = np.arange(width)
            names.extend(f"{name}__{feature}" for feature in features)
        return np.asarray(names, dtype=object)

    def _maps_columns(self) -> bool:
        return self.inputs != "none" or self.relevance is not None

    def _mapped(self, X: Table) -> Table:
        return X if self.input_map_ is None else self.input_map_(X)

    def _validate(self, X: Table, *, reset: bool) -> Table:
        if self._maps_columns():
            return super()._validate(X, reset=reset)
        return validate_table(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = [get_tags(t) for _, t in self._prototypes()]
        tags.input_tags.sparse = all(p.input_tags.sparse for p in parts)
        for kind in ("allow_nan", "string", "categorical"):
            every = all(getattr(part.input_tags, kind) for part in parts)
            setattr(tags.input_tags, kind, every and not self._maps_columns())
        if self._maps_columns():
            tags.input_tags.sparse &= self.inputs in ("standard", "none")
        tags.transformer_tags.preserves_dtype = []
        return tags

    @abstractmethod
    def _prototypes(self) -> list[tuple[str, Any]]:
        """What the user gave, as (name, transformer) pairs, unchecked."""


class ClonedFeatures(_TransformerBasis):
    """Any transformer, cloned once per member with a seed of its own.

    Parameters
    ----------
    transformer : scikit-learn transformer
        Must not require y. Every ``random_state`` inside it is set, a new one per member;
        without one all members are equal, and a warning says so.
    n_members : int, default=100
        Number of members M.
    inputs : {"none", "standard", "clip", "rank"}, default="none"
        What is done to the columns of X first, as in :class:`FourierFeatures`.
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that.
    random_state : int, RandomState or None, default=None
        Seed of the members' seeds. Within an estimator None is the estimator's.

    Attributes
    ----------
    transformers_ : list of (str, transformer)
        The fitted members.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> from negcorr.bases import ClonedFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> ClonedFeatures(RBFSampler(n_components=5), 4, random_state=0).fit_transform(X).shape
    (20, 20)
    """

    def __init__(
        self,
        transformer: Any,
        n_members: int = 100,
        *,
        inputs: str = "none",
        relevance: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.transformer = transformer
        self.n_members = n_members
        self.inputs = inputs
        self.relevance = relevance
        self.random_state = random_state

    def _prototypes(self) -> list[tuple[str, Any]]:
        return [("member", self.transformer)]

    def _named_transformers(self) -> list[tuple[str, Any]]:
        check_positive_int("n_members", self.n_members)
        _check_transformer("transformer", self.transformer)
        rng = check_random_state(self.random_state)
        members = []
        for m in range(self.n_members):
            member = clone(self.transformer)
            seeds = {
                key: rng.randint(np.iinfo(np.int32).max)
                for key in sorted(member.get_params(deep=True))
                if key == "random_state" or key.endswith("__random_state")
            }
            members.append((f"member{m}", member.set_params(**seeds)))
        return members


class BlockFeatures(_TransformerBasis):
    """A list of M transformers, one per member; blocks may have unequal widths.

    Parameters
    ----------
    transformers : list of transformers or of (name, transformer) pairs
        The members. Cloned, never changed; none may require y.
    inputs : {"none", "standard", "clip", "rank"}, default="none"
        What is done to the columns of X first, as in :class:`FourierFeatures`.
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that.

    Attributes
    ----------
    transformers_ : list of (str, transformer)
        The fitted members.
    block_starts_ : ndarray of shape (M + 1,)
        Where each member's columns begin.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures, SplineTransformer
    >>> from negcorr.bases import BlockFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> basis = BlockFeatures([("poly", PolynomialFeatures()), ("spline", SplineTransformer())])
    >>> basis.fit(X).block_starts_.tolist()
    [0, 6, 20]
    """

    def __init__(
        self,
        transformers: Sequence[Any],
        *,
        inputs: str = "none",
        relevance: npt.ArrayLike | None = None,
    ) -> None:
        self.transformers = transformers
        self.inputs = inputs
        self.relevance = relevance

    def with_seed(self, random_state: Any) -> Self:
        """An unfitted copy; every seed within it that is None is drawn from ``random_state``."""
        rng = check_random_state(random_state)
        seeded: list[Any] = []
        for member in self.transformers:
            named = isinstance(member, tuple) and len(member) == 2
            transformer = member[1] if named else member
            if hasattr(transformer, "get_params"):
                transformer = clone(transformer)
                parameters = transformer.get_params(deep=True)
                for key in sorted(parameters):
                    if key.rpartition("__")[2] == "random_state" and parameters[key] is None:
                        transformer.set_params(**{key: rng.randint(np.iinfo(np.int32).max)})
            seeded.append((member[0], transformer) if named else transformer)
        return type(self)(seeded, inputs=self.inputs, relevance=self.relevance)

    def _prototypes(self) -> list[tuple[str, Any]]:
        return [
            (t[0], t[1]) if isinstance(t, tuple) else (f"{type(t).__name__.lower()}{i}", t)
            for i, t in enumerate(self.transformers)
        ]

    def _named_transformers(self) -> list[tuple[str, Any]]:
        if not isinstance(self.transformers, (list, tuple)):
            raise TypeError(
                f"transformers={self.transformers!r} must be a list of transformers or of "
                "(name, transformer) pairs."
            )
        if len(self.transformers) == 0:
            raise ValueError("transformers is an empty list; give at least one transformer.")
        for i, t in enumerate(self.transformers):
            if isinstance(t, tuple) and (len(t) != 2 or not isinstance(t[0], str)):
                raise ValueError(
                    f"transformers[{i}]={t!r} must be a transformer or a (name, transformer) pair."
                )
        named = self._prototypes()
        names = [name for name, _ in named]
        if len(set(names)) < len(names):
            raise ValueError(f"names in transformers must be unique, got {names}.")
        for name, transformer in named:
            _check_transformer(name, transformer)
        return [(name, clone(transformer)) for name, transformer in named]


def _check_transformer(name: str, transformer: Any) -> None:
    if not (hasattr(transformer, "fit") and hasattr(transformer, "transform")) or isinstance(
        transformer, type
    ):
        raise TypeError(
            f"{name}={transformer!r} is not a transformer instance: it needs fit and transform."
        )
    if get_tags(transformer).target_tags.required:
        raise ValueError(
            f"{name}={transformer!r} requires y. A basis may see X but never y: features that "
            "depend on y would make the degrees of freedom wrong."
        )


def _fitted(transformer: Any, X: Table, sample_weight: Any) -> Any:
    weights = {}
    if sample_weight is not None and has_fit_parameter(transformer, "sample_weight"):
        weights["sample_weight"] = sample_weight
    try:
        return transformer.fit(X, **weights)
    except (TypeError, ValueError) as error:
        error.add_note(
            f"{transformer!r} was fitted as part of a basis, on X alone: a basis never sees y."
        )
        raise


def _dense(block: Any, name: str) -> AnyArray:
    dense = block.toarray() if sp.issparse(block) else np.asarray(block)
    if dense.ndim != 2 or not np.issubdtype(dense.dtype, np.number):
        raise ValueError(
            f"transformer {name!r} must return a numeric 2-D block, got shape {dense.shape} "
            f"of type {dense.dtype}."
        )
    if not np.isfinite(dense).all():
        raise ValueError(f"transformer {name!r} returned NaN or infinity.")
    return dense


def _warn_if_identical(blocks: list[AnyArray]) -> None:
    n_different = len({(block.shape[1], block.tobytes()) for block in blocks})
    if n_different < len(blocks):
        warnings.warn(
            f"only {n_different} of {len(blocks)} members differ: identical members add no "
            "diversity. Give transformers with a random_state, or a list of different ones.",
            IdenticalMembersWarning,
            stacklevel=3,
        )
