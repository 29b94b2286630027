"""Fitted models in files that hold no pickle: saved in one step, checked before they are built.

Saving turns a model into what a file can hold (:mod:`negcorr.storage.encoding`), lets skops write
it and gives ids to its types. Loading goes the same way back; nothing is built unless every type
that the file names is trusted (:mod:`negcorr.storage.allowlist`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from negcorr._common.files import write_atomically
from negcorr.exceptions import ModelFileError, UntrustedModelError
from negcorr.storage.allowlist import IDS, TRUSTED, ids_to_paths, paths_to_ids, type_name
from negcorr.storage.encoding import from_file_form, to_file_form
from negcorr.storage.model_files import (
    FORMAT,
    ModelFile,
    bytes_of,
    naming_damage,
    read_about,
    read_schema,
    sealed,
    skops_io,
    with_schema,
)

__all__ = ["ModelFile", "describe", "load", "save"]

#: Whose versions are noted in a file.
PACKAGES = ("negcorr", "scikit-learn", "numpy", "skops")


def save(model: Any, path: Any, *, notes: Mapping[str, Any] | None = None) -> Path:
    """Write a model to one file that holds no pickle.

    Parameters
    ----------
    model : estimator
        An :class:`~negcorr.NCLRegressor` or :class:`~negcorr.deep.DeepNCLRegressor` in any state,
        or a scikit-learn estimator that contains one: a pipeline, a TransformedTargetRegressor, a
        search. Use :meth:`~negcorr.NCLRegressor.compact` first to store less of it.
    path : path
        Replaced in one step, if it exists; ``.skops`` is the usual ending.
    notes : mapping, optional
        Anything that JSON can hold: names of targets, a schema of columns, where the data came
        from. :func:`negcorr.storage.save_load.describe` returns it without building the model.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelFileError
        Where the model holds something that cannot be written. No file is left then, and an older
        one stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_diabetes
    >>> import negcorr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = negcorr.NCLRegressor(basis="fourier").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = negcorr.save(model, Path(folder) / "diabetes.skops")
    ...     bool((negcorr.load(file).predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    skops = skops_io()
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"model must be an estimator, got {model!r}.")
    if not isinstance(notes, Mapping | None):
        raise TypeError(f"notes={notes!r} must be a mapping.")
    try:
        plain_notes = json.loads(json.dumps(dict(notes or {})))
    except (TypeError, ValueError) as error:
        raise TypeError(f"notes={notes!r} must hold what JSON can hold: {error}.") from error
    try:
        stored = to_file_form(model)
        envelope = {
            "format": FORMAT,
            "kind": type_name(type(stored)),
            "versions": {name: version(name) for name in PACKAGES},
            "notes": plain_notes,
        }
        data = sealed(skops.dumps(stored), envelope, paths_to_ids)
    except RecursionError as error:
        raise ModelFileError(path, "cannot be written: the model contains itself.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(path, f"cannot be written: {error}") from error
    write_atomically(path, data)
    return path


def load(path: Any, *, trusted: Sequence[str | type] = ()) -> Any:
    """Read a model that :func:`save` wrote; nothing in the file is run.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str or type, default=()
        Types, or their full names, that may be built besides those of negcorr, scikit-learn's
        estimators and NumPy's arrays: those of your own transformers. Only name what you know:
        building an object of a type runs code of that type.

    Returns
    -------
    estimator
        Its predictions equal those of the saved one, to the last bit on the same machine.
        Networks are on the CPU.

    Raises
    ------
    UntrustedModelError
        Where the file names any other type; says which.
    ModelFileError
        Where there is no such file, it is damaged or something else, or it was written by a version
        of negcorr that this one does not understand.
    ImportError
        Where it holds a deep ensemble, and torch is not installed.

    See Also
    --------
    save : shows both.

    Examples
    --------
    >>> import negcorr
    >>> negcorr.load("no such file.skops")
    Traceback (most recent call last):
    negcorr.exceptions.ModelFileError: no such file.skops: there is no such file.
    """
    path = Path(path)
    skops = skops_io()
    if isinstance(trusted, str | bool) or not all(isinstance(t, str | type) for t in trusted):
        raise TypeError(f"trusted={trusted!r} must be a list of types or of their full names.")
    allowed = TRUSTED.union(
        t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted
    )
    data = bytes_of(path)
    about = read_about(path, data)
    schema = read_schema(path, data)
    with naming_damage(path):
        if unknown := ids_to_paths(schema):
            now = version("negcorr")
            raise ModelFileError(
                path, f"holds {unknown}, which negcorr {now} does not have: {_likely_cause(about)}."
            )
        data = with_schema(data, schema)
        found = set(skops.get_untrusted_types(data=data))
    if names := sorted(found - allowed):
        raise UntrustedModelError(
            path,
            f"holds types that are not trusted: {names}. Nothing was built. If you know the file "
            f"and these types, load(path, trusted={names!r}).",
            tuple(names),
        )
    if IDS["DeepNCLRegressor"] in found:
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"{path} holds a deep ensemble, which needs torch: pip install 'negcorr[deep]'"
            ) from error
    with naming_damage(path, f"cannot be built: {_likely_cause(about)}"):
        stored = skops.loads(data, trusted=sorted(found))
        if type_name(type(stored)) != about.kind:
            raise ModelFileError(path, f"says that it holds a {about.kind}, but holds none.")
        return from_file_form(stored)


def describe(path: Any) -> ModelFile:
    """What a file says about its model, without building it.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ModelFile

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import negcorr
    >>> from negcorr.storage.save_load import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.skops"
    ...     file = negcorr.save(negcorr.NCLRegressor(), file, notes={"target": "price"})
    ...     about = describe(file)
    >>> about.kind, about.notes
    ('negcorr.NCLRegressor', {'target': 'price'})
    """
    path = Path(path)
    return read_about(path, bytes_of(path))


def _likely_cause(about: ModelFile) -> str:
    """Why a file cannot be used: the versions that wrote it differ from those here, or damage."""
    differing = [
        f"{name} {about.versions.get(name, 'unknown')}, here {version(name)}"
        for name in PACKAGES
        if about.versions.get(name) != version(name)
    ]
    if differing:
        return f"it was written by other versions ({'; '.join(differing)}), or is damaged"
    return "it is damaged, since it says that the versions that are here have written it"
