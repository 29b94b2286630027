"""Dask clusters that lose a worker, their client or all workers in the middle of a fit."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import negcorr
from negcorr import scale

__all__ = ["lost"]

#: Seconds after which a fit counts as hanging.
PATIENCE = 60.0


def slowly(block: Any) -> Any:
    """A block that takes a while."""
    time.sleep(0.02)
    return block


def lost(rng: np.random.Generator, folder: Path) -> tuple[str, list[str]]:
    """A fit by Dask that ends with the model of all rows, or with an error and no change."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    X = rng.normal(size=(2000, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=2000)
    blocks = da.from_array(X, chunks=(100, 3)).map_blocks(slowly, meta=np.empty((0, 0)))
    targets = da.from_array(y, chunks=100)
    what = ("a client", "a worker", "all workers")[rng.integers(3)]
    model = new_model().fit(X[:100], y[:100])
    before, errors = dict(vars(model)), []

    def fit() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scale.fit(model, blocks, targets)
        except Exception as error:
            errors.append(error)

    given = {"distributed.scheduler.no-workers-timeout": "1s"}
    with warnings.catch_warnings(), dask.config.set(given):
        warnings.simplefilter("ignore")
        options = {"processes": False, "dashboard_address": None, "silence_logs": logging.CRITICAL}
        with LocalCluster(2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
            fitting = threading.Thread(target=fit, daemon=True)
            fitting.start()
            time.sleep(rng.uniform(0.0, 0.6))
            if what == "a client":
                client.close()
            else:
                cluster.scale(1 if what == "a worker" else 0)
            fitting.join(PATIENCE)
            if fitting.is_alive():
                return "refused", [f"the fit hangs after {what} was lost"]
    if errors:
        faults = []
        if not isinstance(errors[0], ConnectionError):
            faults.append(f"{what} lost: {type(errors[0]).__name__}: {errors[0]}")
        if vars(model).keys() != before.keys() or any(
            vars(model)[n] is not before[n] for n in before
        ):
            faults.append(f"{what} lost: the model has changed although its fit has failed")
        return "refused", faults
    whole = new_model().fit(X, y)
    apart = float(np.max(np.abs(model.predict(X) - whole.predict(X))))
    return "answered", [] if apart < 1e-6 else [f"{what} lost: predictions differ by {apart:.1e}"]


def new_model() -> Any:
    """An ensemble of few features."""
    basis = negcorr.bases.FourierFeatures(n_members=4, n_components=3)
    return negcorr.NCLRegressor(basis, random_state=0)
