"""``negcorr demo``: the whole way on data that ship with scikit-learn."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_diabetes

from negcorr._common.files import check_writable, write_atomically
from negcorr.cli.fit_options import FitOptions
from negcorr.cli.fitting import run_fit
from negcorr.cli.output import Screen

__all__ = ["run_demo"]


def run_demo(out: Path, screen: Screen) -> None:
    """Write the diabetes data as a CSV file, and fit it as a user would.

    Parameters
    ----------
    out : Path
        Folder for the data and the files.
    screen : Screen
    """
    check_writable(out)
    bunch = load_diabetes(scaled=False)
    names = [*bunch.feature_names, "progression"]
    lines = [",".join(names)]
    for inputs, target in zip(bunch.data, bunch.target, strict=True):
        lines.append(",".join(f"{value:g}" for value in (*inputs, target)))
    data = out / "diabetes.csv"
    write_atomically(data, ("\n".join(lines) + "\n").encode())
    screen.say(f"$ negcorr fit {data} --target progression --out {out}", style="dim")
    run_fit(FitOptions(data=data, target=["progression"], out=out), screen)
    screen.say()
    screen.say(f"Open {out / 'report.html'} in a browser and move the slider. Then try:")
    screen.say(f"  negcorr predict {out / 'model.skops'} {data} --interval 0.9 | head")
    screen.say(f"  negcorr evaluate {out / 'model.skops'} {data}")
    screen.say(
        f"  negcorr dof {data} --target progression "
        "--estimator sklearn.ensemble.RandomForestRegressor"
    )
