"""Fitted models in files that hold no pickle: saved in one step, checked before they are built.

A file is one of skops, a zip of arrays and a JSON schema, with a second JSON beside it that says
who wrote it and what it is about. Loading lets skops list the types that the schema names, and
builds nothing unless each is trusted (:mod:`negcorr.storage.allowlist`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from negcorr._common.files import write_atomically
from negcorr.exceptions import ModelFileError, UntrustedModelError
from negcorr.storage.allowlist import TRUSTED
from negcorr.storage.encoding import KEPT, from_file_form, to_file_form
from negcorr.storage.model_files import (
    FORMAT,
    ModelFile,
    bytes_of,
    check_members,
    read_about,
    short,
    skops_io,
    with_envelope,
)
from negcorr.storage.stored_types import StoredDeep

__all__ = ["ModelFile", "describe", "load", "save"]

#: Whose versions are noted in a file.
PACKAGES = ("negcorr", "scikit-learn", "numpy", "skops")


def save(
    model: Any, path: Any, *, notes: Mapping[str, Any] | None = None, keep: str = "all"
) -> Path:
    """Write a model to one file that holds no pickle.

    Parameters
    ----------
    model : estimator
        An :class:`~negcorr.NCLRegressor` or :class:`~negcorr.deep.DeepNCLRegressor` in any state,
        or a scikit-learn estimator that contains one: a pipeline, a TransformedTargetRegressor, a
        search.
    path : path
        Replaced in one step, if it exists; ``.skops`` is the usual ending.
    notes : mapping, optional
        Anything that JSON can hold: names of targets, a schema of columns, where the data came
        from. :func:`negcorr.storage.save_load.describe` returns it without building the model.
    keep : {"all", "path", "predictions"}, default="all"
        How much of every fitted NCLRegressor. "path" leaves out the moments of the folds, most of
        the file: curves, reports, predictions, intervals and other λ are there, rows can no longer
        be added (:meth:`~negcorr.NCLRegressor.without_folds`). "predictions" leaves predictions and
        intervals (:meth:`~negcorr.NCLRegressor.compact`).

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
    >>> model = negcorr.NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = negcorr.save(model, Path(folder) / "diabetes.skops")
    ...     bool((negcorr.load(file).predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    skops = skops_io()
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise TypeError(f"model must be an estimator, got {model!r}.")
    if keep not in KEPT:
        raise ValueError(f"keep={keep!r} is unknown; allowed are {list(KEPT)}.")
    envelope = {
        "format": FORMAT,
        "kind": _name(type(model)),
        "versions": {name: version(name) for name in PACKAGES},
        "notes": _checked_notes(notes),
        "keep": keep,
    }
    try:
        data = skops.dumps(to_file_form(model, keep))
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
        Answers as the saved one did, to the last bit on the same machine. Networks are on the CPU.

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
    allowed = TRUSTED | _names(trusted)
    data = bytes_of(path)
    about = read_about(path, data)
    check_members(path, data)
    try:
        found = set(skops.get_untrusted_types(data=data))
    except Exception as error:  # whatever a crafted file makes skops stumble over
        raise ModelFileError(path, f"is damaged ({short(error)}).") from error
    _check_types(path, found - allowed, about)
    if _name(StoredDeep) in found:
        _check_torch(path)
    try:
        model = from_file_form(skops.loads(data, trusted=sorted(found & allowed)))
    except Exception as error:
        raise ModelFileError(path, f"cannot be built: {_apart(about)} ({short(error)}).") from error
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
    >>> from negcorr.storage.save_load import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.skops"
    ...     file = negcorr.save(negcorr.NCLRegressor(), file, notes={"target": "price"})
    ...     about = describe(file)
    >>> about.kind, about.notes
    ('negcorr.ensemble.regressor.NCLRegressor', {'target': 'price'})
    """
    path = Path(path)
    return read_about(path, bytes_of(path))


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
    ours = {name for name in unknown if name.partition(".")[0] == "negcorr"}
    gone = sorted(name for name in ours if not _is_here(name))
    if gone:
        now = version("negcorr")
        raise ModelFileError(
            path, f"holds {gone}, which negcorr {now} does not have: {_apart(about)}."
        )
    if unknown:
        names = sorted(unknown)
        raise UntrustedModelError(
            path,
            f"holds types that are not trusted: {names}. Nothing was built. If you know the file "
            f"and these types, load(path, trusted={names!r}).",
            tuple(names),
        )


def _is_here(name: str) -> bool:
    """Whether this package has such a class or function; found by reading, nothing is imported."""
    module, _, kind = name.rpartition(".")
    inside = module.split(".")[1:]
    if not all(part.isidentifier() for part in (*inside, kind)):
        return False
    home = files("negcorr").joinpath(*inside[:-1], f"{inside[-1]}.py" if inside else "__init__.py")
    if not home.is_file():
        return False
    lines = home.read_text(encoding="utf-8").splitlines()
    heads = tuple(f"{word} {kind}{end}" for word in ("class", "def") for end in "(:[")
    return any(line.startswith(heads) for line in lines)


def _check_torch(path: Path) -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{path} holds a deep ensemble, which needs torch: pip install 'negcorr[deep]'"
        ) from error


def _apart(about: ModelFile) -> str:
    """How the versions that wrote a file differ from those that read it."""
    here = {name: version(name) for name in PACKAGES}
    apart = [
        f"{name} {about.versions.get(name, 'unknown')}, here {now}"
        for name, now in here.items()
        if about.versions.get(name) != now
    ]
    if apart:
        return f"it was written by other versions ({'; '.join(apart)}), or is damaged"
    return "it is damaged, since it says that the versions that are here have written it"
