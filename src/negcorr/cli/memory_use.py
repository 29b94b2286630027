"""Whether an ensemble of such a size can be fitted here: an answer before the machine gives out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from negcorr._common.memory import available_bytes, in_words
from negcorr.bases.named import PLAIN_ESTIMATORS
from negcorr.cli.errors import UsageError
from negcorr.ensemble.regressor import NCLRegressor

__all__ = ["check_memory"]

#: Matrices of the size of the features' products, or of the features, that a fit holds at a time.
MATRICES = 8


def check_memory(parameters: Mapping[str, Any], n_rows: int) -> None:
    """Refuse ensembles whose fit would take more memory than there is.

    Parameters
    ----------
    parameters : mapping
        Of the ensemble, where they are not the defaults.
    n_rows : int

    Raises
    ------
    UsageError
        Saying how much it would take, and what takes less.
    """
    default = NCLRegressor()
    members = int(parameters.get("n_estimators", PLAIN_ESTIMATORS))
    n_features = members * int(parameters.get("n_components", default.n_components))
    if parameters.get("basis") == "auto" and "n_estimators" not in parameters:
        n_features = default.budget
    needed = 8.0 * MATRICES * n_features * min(n_features, max(n_rows, 1))
    there = available_bytes()
    if there is not None and needed > there:
        raise UsageError(
            f"--members {members}: {n_features} features of {n_rows} rows would take about "
            f"{in_words(needed)} of memory, and {in_words(there)} are there. Use fewer members or "
            "--components."
        )
