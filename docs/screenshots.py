"""Pictures of the report for the documentation: ``python docs/screenshots.py``.

Needs Chromium and playwright (extra ``test``); writes ``docs/_static/report-*.png``.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from negcorr.cli import main

STATIC = Path(__file__).parent / "_static"

#: Name, width and height of the window, and pixels for each of its points.
WINDOWS = (("desktop", 1180, 1500, 1.0), ("phone", 390, 1500, 1.0))


def take_pictures() -> None:
    """Fit the demonstration, open its report in windows of several sizes, and store what shows."""
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
    take_pictures()
