"""Pictures for the README and the guide: ``python docs/screenshots.py``.

Writes ``docs/_static/path.png`` and ``docs/_static/report-*.png``. Pictures of the report need
Chromium and playwright (extra ``test``).
"""

import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_diabetes

from negcorr import NCLRegressor, PathDisplay
from negcorr.cli import main

STATIC = Path(__file__).parent / "_static"

#: Name, width and height of the window, and pixels for each of its points.
WINDOWS = (("desktop", 1180, 1500, 1.0), ("phone", 390, 1500, 1.0))


def draw_path() -> None:
    """Draw the path of the model in the README."""
    matplotlib.use("agg")
    X, y = load_diabetes(return_X_y=True)
    display = PathDisplay.from_estimator(NCLRegressor().fit(X, y))
    display.figure_.savefig(STATIC / "path.png", dpi=130, metadata={"Software": None})


def take_pictures() -> None:
    """Fit the demonstration, and store pictures of its report in windows of several sizes."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("docs/screenshots.py needs Chromium, which is not installed.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        try:
            main(["demo", "--out", folder, "--quiet"])
        except SystemExit as left:
            if left.code:
                raise
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, width, height, scale in WINDOWS:
            page = chromium.new_page(
                viewport={"width": width, "height": height}, device_scale_factor=scale
            )
            page.goto(Path(folder, "report.html").as_uri())
            page.wait_for_timeout(500)
            page.screenshot(path=STATIC / f"report-{name}.png")
        chromium.close()


if __name__ == "__main__":
    draw_path()
    take_pictures()
