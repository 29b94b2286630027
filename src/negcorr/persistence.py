"""Fitted models in files that hold no pickle: saved in one step, checked before they are built.

A file is one of skops, a zip of arrays and a JSON schema, with a second JSON beside it that says
who wrote it and what it is about. Loading lets skops list the types that the schema names, and
builds nothing unless each is trusted (:mod:`negcorr.trusted`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from negcorr._files import write_atomically
from negcorr.exceptions import ModelFileError, UntrustedModelError
from negcorr.model_files import (
    FORMAT,
    ModelFile,
    bytes_of,
    check_members,
    read_about,
    short,
    with_envelope,
)
from negcorr.portable import from_file_form, to_file_form
from negcorr.trusted import TRUSTED

__all__ = ["ModelFile", "describe", "load", "save"]

#: Whose versions are noted in a file.
PACKAGES = ("negcorr", "scikit-learn", "numpy", "skops")


def save(model: Any, path: Any, *, notes: Mapping[str, Any] | None = None) -> Path:
    """Write a model to one file that holds no pickle.

    Parameters
    ----------
    model : estimator
        An :class:`~negcorr.NCLRegressor` in any state, or a scikit-learn estimator that contains
        one: a pipeline, a TransformedTargetRegressor, a search. Files of
        :meth:`~negcorr.NCLRegressor.compact` models are small.
    path : path
        Replaced in one step, if it exists; ``.skops`` is the usual ending.
    notes : mapping, optional
        Anything that JSON can hold: names of targets, a schema of columns, where the data came
        from. :func:`negcorr.persistence.describe` returns it without building the model.

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
    >>> model = negcorr.NCLRegressor(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = negcorr.save(model, Path(folder) / "diabetes.skops")
    ...     bool((negcorr.load(file).predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    skops = _skops()
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"model must be an estimator, got {model!r}.")
    envelope = {
        "format": FORMAT,
        "kind": _name(type(model)),
        "versions": {name: version(name) for name in PACKAGES},
        "notes": _checked_notes(notes),
    }
    try:
        data = skops.dumps(to_file_form(model))
    except RecursionError as error:
        raise ModelFileError(path, "cannot be written: the model contains itself.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(path, f"cannot be written: {error}") from error
    write_atomically(path, with_envelope(data, envelope))
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
        Answers as the saved one did, to the last bit on the same machine.

    Raises
    ------
    UntrustedModelError
        Where the file names any other type; says which.
    ModelFileError
        Where there is no such file, it is damaged or something else, or it was written by a version
        of negcorr that this one does not understand.

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
    skops = _skops()
    allowed = TRUSTED | _names(trusted)
    data = bytes_of(path)
    about = read_about(path, data)
    check_members(path, data)
    try:
        found = set(skops.get_untrusted_types(data=data))
    except Exception as error:  # whatever a crafted file makes skops stumble over
        raise ModelFileError(path, f"is damaged ({short(error)}).") from error
    _check_types(path, found - allowed, about)
    try:
        model = from_file_form(skops.loads(data, trusted=sorted(found & allowed)))
    except Exception as error:
        raise ModelFileError(
            path, f"is damaged, or {_written_by(about)} ({short(error)})."
        ) from error
    if _name(type(model)) != about.kind:
        raise ModelFileError(path, f"says that it holds a {about.kind}, but holds none.")
    return model


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
    >>> from negcorr.persistence import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.skops"
    ...     file = negcorr.save(negcorr.NCLRegressor(), file, notes={"target": "price"})
    ...     about = describe(file)
    >>> about.kind, about.notes
    ('negcorr.regressor.NCLRegressor', {'target': 'price'})
    """
    path = Path(path)
    return read_about(path, bytes_of(path))


def _skops() -> Any:
    try:
        with warnings.catch_warnings():
            # Of libraries that skops looks into, when it is first imported.
            warnings.simplefilter("ignore")
            import skops.io
    except ImportError as error:
        raise ImportError("files of models need skops: pip install skops") from error
    return skops.io


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _names(trusted: Sequence[str | type]) -> set[str]:
    if isinstance(trusted, str | bool) or not all(isinstance(t, str | type) for t in trusted):
        raise TypeError(f"trusted={trusted!r} must be a list of types or of their full names.")
    return {t if isinstance(t, str) else _name(t) for t in trusted}


def _checked_notes(notes: Mapping[str, Any] | None) -> dict[str, Any]:
    if notes is None:
        return {}
    if not isinstance(notes, Mapping):
        raise TypeError(f"notes={notes!r} must be a mapping.")
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(notes)))
    except (TypeError, ValueError) as error:
        raise TypeError(f"notes={notes!r} must hold what JSON can hold: {error}.") from error
    return plain


def _check_types(path: Path, unknown: set[str], about: ModelFile) -> None:
    gone = sorted(name for name in unknown if name.partition(".")[0] == "negcorr")
    if gone:
        raise ModelFileError(
            path, f"holds {gone}, which cannot be read here: {_written_by(about)}."
        )
    if unknown:
        names = sorted(unknown)
        raise UntrustedModelError(
            path,
            f"holds types that are not trusted: {names}. Nothing was built. If you know the file "
            f"and these types, load(path, trusted={names!r}).",
            tuple(names),
        )


def _written_by(about: ModelFile) -> str:
    made = ", ".join(f"{name} {about.versions.get(name)}" for name in PACKAGES)
    return f"written by another version ({made}; negcorr here is {version('negcorr')})"
