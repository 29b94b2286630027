"""Which types a file of a model may name, and under which names.

A file names classes of negcorr by the ids here, so that moving or renaming a class breaks no file.
It names types of other libraries by their full names. skops itself trusts estimators of
scikit-learn, arrays and ufuncs of NumPy; any other type must be in one of the two lists here, or be
named by the caller of :func:`negcorr.load`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["IDS", "THEIRS", "TRUSTED", "ids_to_paths", "paths_to_ids", "type_name"]

#: Ids of all classes that a fitted model can hold, and where each class is now. A class that moves
#: or gets another name gets another path here; its id stays, and no id is used again for another.
IDS = {
    "ContentKFold": "negcorr.rows.folds.ContentKFold",
    "DeepNCLRegressor": "negcorr.storage.stored_types.StoredDeep",
    "NCLPath": "negcorr.path.path.NCLPath",
    "NCLRegressor": "negcorr.ensemble.regressor.NCLRegressor",
    "SURESearch": "negcorr.optimism.sure_search.SURESearch",
    "basis.auto": "negcorr.bases.auto.AutoBasis",
    "basis.blocks": "negcorr.bases.transformers.BlockFeatures",
    "basis.clones": "negcorr.bases.transformers.ClonedFeatures",
    "basis.fourier": "negcorr.bases.fourier.FourierFeatures",
    "basis.input_map": "negcorr.bases.input_maps.InputMap",
    "basis.kernel": "negcorr.bases.kernel_features.KernelFeatures",
    "basis.linear": "negcorr.bases.linear.LinearFeatures",
    "basis.nested": "negcorr.bases.nested.NestedFeatures",
    "basis.nested.nesting": "negcorr.bases.nested.Nesting",
    "basis.nystroem": "negcorr.bases.nystroem.NystroemFeatures",
    "basis.trees": "negcorr.bases.trees.TreeFeatures",
    "columns.category": "negcorr.columns.encoding.CategoryPart",
    "columns.column": "negcorr.reading.schema.Column",
    "columns.date": "negcorr.columns.encoding.DatePart",
    "columns.date_parts": "negcorr.columns.date_parts.DateParts",
    "columns.encoding": "negcorr.columns.encoding.Encoding",
    "columns.input_cells": "negcorr.columns.inputs.InputCells",
    "columns.number": "negcorr.columns.encoding.NumberPart",
    "columns.schema": "negcorr.reading.schema.Schema",
    "columns.squashing_scaler": "negcorr.columns.encoder.SquashingScaler",
    "columns.typed": "negcorr.columns.typed_columns.TypedColumns",
    "criterion.leave_one_out": "negcorr.criteria.leave_one_out.LeaveOneOut",
    "curve_table": "negcorr.spectrum.curve_table.CurveTable",
    "ensemble.answers": "negcorr.ensemble.fitted.Answers",
    "ensemble.drawn": "negcorr.ensemble.drawn.Drawn",
    "ensemble.fitted": "negcorr.ensemble.fitted.FittedState",
    "ensemble.held_out": "negcorr.criteria.kfold.HeldOutPredictions",
    "ensemble.huber_targets": "negcorr.ensemble.huber.HuberTargets",
    "ensemble.kept_rows": "negcorr.criteria.kfold.KeptRows",
    "ensemble.solution": "negcorr.ensemble.fitted.Solution",
    "ensemble.stream": "negcorr.ensemble.stream.Stream",
    "frame": "negcorr.storage.stored_types.StoredFrame",
    "moments.factor": "negcorr.moments.moments.FactorMoments",
    "moments.gram": "negcorr.moments.moments.GramMoments",
    "path.settings": "negcorr.path.tune.PathSettings",
    "rows": "negcorr.rows.rows.Rows",
    "rows.folds": "negcorr.rows.folds.Folds",
    "rows.keys": "negcorr.rows.keys.RowKeys",
    "selection.candidate": "negcorr.selection.space.Candidate",
    "selection.choice": "negcorr.selection.choose.Choice",
    "selection.chosen": "negcorr.selection.choose.Chosen",
    "selection.trial": "negcorr.selection.sample.Trial",
    "spectrum.banded": "negcorr.spectrum.tridiagonal.BandedSpectrum",
    "spectrum.curves": "negcorr.spectrum.curve_table.CurvesOnly",
    "spectrum.dense": "negcorr.spectrum.spectrum.DenseSpectrum",
    "spectrum.from_rows": "negcorr.spectrum.factorise.RowsSpectrum",
    "spectrum.nested_whitening": "negcorr.spectrum.nested_whitening.NestedWhitening",
    "spectrum.tridiagonal": "negcorr.spectrum.tridiagonal.Tridiagonal",
    "spectrum.whitening": "negcorr.spectrum.whitening.Whitening",
    "spline": "negcorr.storage.stored_types.StoredSpline",
}

_ID_OF = {path: name for name, path in IDS.items()}

_SPLITTERS = (
    *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut"),
    *("PredefinedSplit", "RepeatedKFold", "ShuffleSplit", "TimeSeriesSplit"),
)

#: Of other libraries: plain holders of data that are no estimators, and sparse matrices and trees,
#: whose contents are checked once they are built (:mod:`negcorr.storage.encoding`).
THEIRS = frozenset(
    {
        "numpy.dtype",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS),
    }
)

#: Full names of all types that are built without being named by the caller of load.
TRUSTED = THEIRS.union(IDS.values())


def type_name(kind: type) -> str:
    """Name of a type in files: ``negcorr.`` and its id for a class with an id, else its full name.

    Examples
    --------
    >>> from negcorr import NCLRegressor
    >>> from negcorr.storage.allowlist import type_name
    >>> type_name(NCLRegressor), type_name(dict)
    ('negcorr.NCLRegressor', 'builtins.dict')
    """
    path = f"{kind.__module__}.{kind.__qualname__}"
    return f"negcorr.{_ID_OF[path]}" if path in _ID_OF else path


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All parts of a schema of skops that name a type."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__module__"), str):
                yield part
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)


def paths_to_ids(schema: Any) -> None:
    """Change a schema of skops in place so that classes of negcorr are named by their ids.

    Raises
    ------
    TypeError
        Where a class of negcorr has no id. Functions need none: they are named by their modules,
        and the caller of :func:`negcorr.load` must trust them.
    """
    unknown = set()
    for node in _nodes(schema):
        path = f"{node['__module__']}.{node['__class__']}"
        if path in _ID_OF:
            node["__module__"], node["__class__"] = "negcorr", _ID_OF[path]
        elif path.startswith("negcorr.") and node["__loader__"] != "FunctionNode":
            unknown.add(path)
    if unknown:
        raise TypeError(f"classes {sorted(unknown)} have no id in files of models")


def ids_to_paths(schema: Any) -> list[str]:
    """Change a schema of a file in place so that skops finds the classes; return unknown ids."""
    unknown = set()
    for node in _nodes(schema):
        if node["__module__"] == "negcorr":
            if node["__class__"] in IDS:
                node["__module__"], _, node["__class__"] = IDS[node["__class__"]].rpartition(".")
            else:
                unknown.add(f"negcorr.{node['__class__']}")
    return sorted(unknown)
