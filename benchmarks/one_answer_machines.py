"""Fits of one program in several environments: kernels, threads, releases, precision of input.

    python benchmarks/one_answer_machines.py      # prints the answers as JSON

Run as a program it fits diabetes and the made table, and prints what the models answer.
:func:`answers_in` runs it in an environment, :data:`ENVIRONMENTS` are those that are compared with
:data:`REFERENCE`. Processors without AVX2 have no other kernels of NumPy than the narrow ones.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Sets that the program fits; numbers as they are, as float32, and as float64 copies of those.
TABLES, PRECISIONS = ("diabetes", "made"), ("float64", "single", "copy")

#: Exit code of a case that this machine cannot run.
CANNOT = 77

#: NumPy's widest kernels for this kind of processor, by the names of its releases.
WIDE = frozenset(
    [
        *("X86_V3", "X86_V4", "AVX2", "FMA3", "AVX512F", "AVX512CD", "AVX512_KNL", "AVX512_KNM"),
        *("AVX512_SKX", "AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR"),
    ]
)


@dataclass(frozen=True)
class Environment:
    """How a child process runs.

    Attributes
    ----------
    name : str
    threads : int
        Of BLAS and OpenMP.
    core : str
        Kernels of OpenBLAS, empty for those that it takes by itself.
    narrow : bool
        Whether the kernels of NumPy that :data:`WIDE` names are switched off.
    precisions : tuple of str
        Of numbers, of :data:`PRECISIONS`.
    """

    name: str
    threads: int = 1
    core: str = ""
    narrow: bool = False
    precisions: tuple[str, ...] = PRECISIONS[:1]


REFERENCE = Environment("as it is, one thread")

#: Of single precision, compared with itself: the same numbers in double precision.
SINGLE = Environment("float32, and its copy", precisions=PRECISIONS[1:])

ENVIRONMENTS = (
    Environment("two threads", threads=2),
    Environment("OpenBLAS for Haswell", core="Haswell"),
    Environment("OpenBLAS for SkylakeX", core="SkylakeX"),
    Environment("OpenBLAS for Zen", core="Zen"),
    Environment("NumPy's narrow kernels", narrow=True),
)


class CannotRunError(RuntimeError):
    """What a case wants is not on this machine, or not in these releases."""


def answers_in(environment: Environment, python: str = sys.executable) -> dict[str, Any]:
    """What the fits answer in an environment.

    Raises
    ------
    CannotRunError
        If this machine cannot run it; the message says what it lacks.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _DECIDED}
    variables |= {name: str(environment.threads) for name in _THREADS}
    variables["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")
    if environment.core:
        variables["OPENBLAS_CORETYPE"] = environment.core
    if environment.narrow:
        variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(_wide_kernels(python))
    command = [python, "-W", "error", __file__, json.dumps(asdict(environment))]
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode == CANNOT:
        raise CannotRunError(done.stdout.strip())
    if done.returncode:
        raise RuntimeError(f"{environment.name}:\n{done.stderr}")
    return json.loads(done.stdout)


def differences(answer: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """How far an answer is from the reference.

    Parameters
    ----------
    answer, reference : dict
        With ``members``, ``gap``, ``dof``, ``predictions`` and ``spread`` of the targets.

    Returns
    -------
    dict
        ``members``: whether they are the same; ``lam``: lattice points between the λ; ``dof``,
        relative to it or to 1; ``predictions``, in standard deviations of the target.
    """
    here, there = (
        {name: np.asarray(each[name]) for name in ("gap", "dof", "predictions", "spread")}
        for each in (answer, reference)
    )
    if here["predictions"].shape != there["predictions"].shape:
        raise ValueError("the answers are about different rows.")
    points = [50.0 * np.log10(each["gap"]) for each in (here, there)]
    apart = np.abs(here["predictions"] - there["predictions"]) / there["spread"]
    return {
        "members": answer["members"] == reference["members"],
        "lam": float(np.max(np.abs(points[0] - points[1]))),
        "dof": float(np.max(np.abs(here["dof"] - there["dof"]) / np.maximum(1.0, there["dof"]))),
        "predictions": float(np.max(apart)),
    }


def answer_of(model: Any, inputs: Any, y: np.ndarray) -> dict[str, Any]:
    """What a fitted model answers on the rows of the reference."""
    return {
        "members": [repr(chosen.candidate) for chosen in model.choice_.members],
        "gap": np.atleast_1d(model.gap_).tolist(),
        "dof": np.atleast_1d(model.dof_).tolist(),
        "predictions": np.asarray(model.predict(inputs), dtype=np.float64).tolist(),
        "spread": np.atleast_1d(np.std(y, axis=0)).tolist(),
    }


_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_DECIDED = frozenset([*_THREADS, "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES"])


def _wide_kernels(python: str) -> list[str]:
    """Those that the NumPy of ``python`` has and that this processor can run, by NumPy's list."""
    code = (
        "from numpy._core import _multiarray_umath as m\n"
        "print(*(name for name in m.__cpu_dispatch__ if m.__cpu_features__[name]))"
    )
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    names = [name for name in found.stdout.split() if name in WIDE]
    if not names:
        raise CannotRunError("NumPy has no wide kernels for this processor.")
    return names


def _check(wanted: Environment) -> None:
    """Leave, saying why, where this process has not the kernels that it is to run with."""
    import scipy.linalg  # noqa: F401, which brings an OpenBLAS of its own
    from numpy._core import _multiarray_umath as kernels
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    problems = []
    if wanted.core:
        kinds = {f"{pool['internal_api']} for {pool.get('architecture')}" for pool in pools}
        if kinds != {f"openblas for {wanted.core}"}:
            problems.append(f"kernels for {wanted.core} are wanted, there is {sorted(kinds)}")
    if {pool["num_threads"] for pool in pools} != {wanted.threads}:
        problems.append(f"{wanted.threads} threads are wanted, {pools} have others")
    used = {name for name in kernels.__cpu_dispatch__ if kernels.__cpu_features__[name]} & WIDE
    if wanted.narrow and used:
        problems.append(f"NumPy uses {sorted(used)}")
    if problems:
        print("; ".join(problems))
        raise SystemExit(CANNOT)


def _fitted(name: str, kind: str) -> dict[str, Any]:
    from one_answer_sets import load_set

    from negcorr import NCLRegressor

    table = load_set(name)
    inputs = table.inputs
    if kind != "float64":
        numbers = {c: np.float32 for c in inputs.columns if inputs[c].dtype.kind in "iuf"}
        inputs = inputs.astype(numbers)
    wide = inputs.astype({c: np.float64 for c in inputs.columns if inputs[c].dtype.kind == "f"})
    X = wide if kind == "copy" else inputs
    if table.is_numeric:
        X, wide = X.to_numpy(), wide.to_numpy()
    return answer_of(NCLRegressor().fit(X, table.y), wide, table.y)


def main() -> None:
    wanted = REFERENCE
    if len(sys.argv) > 1:
        given = json.loads(sys.argv[1])
        wanted = Environment(**given | {"precisions": tuple(given["precisions"])})
    _check(wanted)
    cases = itertools.product(TABLES, wanted.precisions)
    json.dump({f"{name}, {kind}": _fitted(name, kind) for name, kind in cases}, sys.stdout)


if __name__ == "__main__":
    main()
