"""make_tabular: a pipeline from a data frame as it is to an NCL ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from negcorr.bases import AutoBasis
from negcorr.bases.named import BASES, named_basis
from negcorr.columns.encoder import column_encoder
from negcorr.columns.kinds import infer_columns
from negcorr.columns.typed_columns import TypedColumns
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.reading.schema import Schema

__all__ = ["make_tabular"]


def make_tabular(
    frame: Any,
    target: str | Sequence[str],
    *,
    schema: Schema | None = None,
    estimator: Any = None,
    random_state: Any = 0,
    **ncl_parameters: Any,
) -> Pipeline:
    """An unfitted pipeline from a data frame with columns of any type to predictions.

    Numbers are imputed by their median, with a column that says where they were missing, and
    scaled, with extreme values squashed. Categories become 0/1 columns, with missing as a level and
    rare levels in one. Dates become days, and sines and cosines of month, weekday and hour. Columns
    of 0 and 1 are not scaled: a rare level would be far away from everything.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows from which the roles of columns are inferred; nothing is fitted.
    target : str or sequence of str
        Columns to predict.
    schema : Schema, optional
        Roles of the columns, by default those of :func:`~negcorr.columns.kinds.infer_columns`.
    estimator : regressor, optional
        What stands at the end, with its own seed, such as a
        :class:`~negcorr.deep.DeepNCLRegressor`; by default an :class:`~negcorr.NCLRegressor`.
    random_state : int, RandomState or None, default=0
        Seed of the ensemble.
    **ncl_parameters
        Further parameters of :class:`~negcorr.NCLRegressor`; its ``basis`` is "fourier" by default.
        Strings are short for a basis with ``inputs="none"``, since the encoder has scaled columns.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Steps "read", "encode" and "model". Its frames may have columns in any order, and others
        beside them, targets too, which are ignored. Unknown levels and new missing values are dealt
        with.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr import make_tabular
    >>> frame = pd.DataFrame({"size": range(0, 80, 2), "kind": ["a", "b"] * 20})
    >>> frame["price"] = frame["size"] ** 0.5 + (frame["kind"] == "a")
    >>> model = make_tabular(frame, "price", lam=0.5).fit(frame, frame["price"])
    >>> new = pd.DataFrame({"kind": ["a", "never seen"], "size": [10, None]})
    >>> model.predict(new).shape
    (2,)
    >>> model[:-1].get_feature_names_out().tolist()
    ['numbers__size', 'categories__kind_a', 'categories__kind_b']
    """
    if schema is None:
        schema = infer_columns(frame, target)
    wanted = {target} if isinstance(target, str) else set(target)
    if wanted != set(schema.targets):
        raise ValueError(
            f"target={target!r} is not what schema has as targets: {', '.join(schema.targets)}."
        )
    if estimator is not None and ncl_parameters:
        raise TypeError(
            f"{', '.join(ncl_parameters)} are for an NCLRegressor, and estimator={estimator!r} is "
            "given: set its parameters there."
        )
    if estimator is not None:
        model = clone(estimator)
    else:
        settings = {"basis": "fourier", "random_state": random_state, **ncl_parameters}
        # The encoder has scaled the inputs.
        settings["basis"] = encoded_basis(settings["basis"])
        known = NCLRegressor._get_param_names()
        unknown = settings.keys() - set(known)
        if unknown:
            raise TypeError(
                f"{min(unknown)}={settings[min(unknown)]!r} is no parameter of make_tabular or "
                f"NCLRegressor, which has {', '.join(known)}."
            )
        model = NCLRegressor(**settings)
    reader = TypedColumns.of_schema(schema)
    encoder = column_encoder(list(reader.numbers), list(reader.categories), list(reader.dates))
    return Pipeline([("read", reader), ("encode", encoder), ("model", model)])


def encoded_basis(basis: Any) -> Any:
    """The basis of a name for columns that the encoder has scaled; any other basis as it is.

    Examples
    --------
    >>> from negcorr.tables.pipeline import encoded_basis
    >>> encoded_basis("fourier")
    FourierFeatures(inputs='none')
    """
    if not isinstance(basis, str) or basis not in ("auto", *BASES):
        return basis
    return AutoBasis(inputs="none") if basis == "auto" else named_basis(basis, inputs="none")
