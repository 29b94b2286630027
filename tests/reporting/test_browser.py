"""The page in a real browser: the slider moves, and its numbers are those of Python."""

import shutil

import numpy as np
import pytest
from models import deep_ncl, ncl

from negcorr import report

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    # Curves are compared where products do not resolve them as well.
    pytest.mark.filterwarnings("ignore::negcorr.exceptions.PrecisionWarning"),
]

QUANTITIES = ("dof", "train_error", "member_error", "diversity", "sure", "gcv")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A page in the browser, with all that it complained of and asked for."""
    pages = []

    def open_page(model, *args, **kwargs):
        path = report(model, *args, path=tmp_path / "page.html", **kwargs)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert page.complaints == []
        assert len(page.asked) == 1
        page.close()


def model_of(outputs=1, **parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.sin(2 * X[:, :1]) + X[:, 1:2] + 0.3 * rng.normal(size=(150, outputs))
    y = y[:, 0] if outputs == 1 else y
    return ncl(10, 4, **parameters).fit(X[:100], y[:100]), X[100:], y[100:]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("parameters", [{}, {"alpha": 1e-2}, {"fit_intercept": False}])
def test_numbers_are_those_of_python_at_any_lam(opened, outputs, parameters):
    model, X, y = model_of(outputs, **parameters)
    page = opened(model, X, y)
    path = model.path_
    rng = np.random.default_rng(1)
    smallest = page.evaluate("negcorr.data.curves.smallest_gap")
    gaps = [*rng.uniform(0.0, 1.0, 10), *10.0 ** rng.uniform(np.log10(smallest), 0.0, 10)]
    for gap in gaps:
        for j in range(outputs):
            found = page.evaluate("([gap, j]) => negcorr.evaluate(gap, j)", [gap, j])
            for name in QUANTITIES:
                values = np.atleast_1d(getattr(path, name)(gap=gap))
                wanted = values[j] if len(values) > 1 else values[0]
                assert found[name] == pytest.approx(wanted, rel=1e-9, abs=1e-12), name


def test_the_slider_moves_the_numbers_and_finds_its_way_back(opened):
    model, X, y = model_of()
    page = opened(model, X, y)
    shown = page.locator("[data-quantity=dof]")
    chosen = shown.text_content()
    assert float(chosen) == pytest.approx(model.dof_, rel=1e-5)
    back = page.locator("#at-choice")
    assert not back.is_visible()
    page.locator("#knob").focus()
    page.keyboard.press("End")
    assert float(shown.text_content()) == pytest.approx(model.path_.dof(gap=1e-30), rel=1e-2)
    page.keyboard.press("Home")
    assert float(shown.text_content()) == pytest.approx(model.path_.dof(lam=0.0), rel=1e-5)
    back.click()
    assert shown.text_content() == chosen


def test_another_output_has_its_own_numbers(opened):
    model, X, y = model_of(2)
    page = opened(model, X, y, outputs=["one", "two"])
    page.locator("#output").select_option("1")
    shown = float(page.locator("[data-quantity=train_error]").text_content())
    assert shown == pytest.approx(model.path_.train_error()[1], rel=1e-5)


def test_names_that_are_code_stay_names(opened):
    model, X, y = model_of()
    name = "<img src=x onerror=alert(1)>"
    page = opened(model, X, y, title=name, verdict=name, outputs=[name], notes=[name])
    assert page.locator("h1").text_content() == name
    assert page.locator("img").count() == 0


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.CollusionWarning")
@pytest.mark.parametrize("lam", [[0.0, 0.4, 0.8], 0.5])
def test_a_deep_page_shows_its_grid_without_a_complaint(opened, lam):
    pytest.importorskip("torch")
    _, X, y = model_of(2)
    small = {"n_members": 4, "hidden_layer_sizes": (3,), "max_epochs": 4}
    model = deep_ncl(**small, lam=lam, learning_rate=0.02, random_state=0).fit(X, y)
    page = opened(model, X, y, outputs=["one", "two"])
    table = model.lam_table_
    for j, name in enumerate(["0", "1"]):
        page.locator("#output").select_option(name)
        shown = float(page.locator("[data-quantity=train_error]").text_content())
        assert shown == pytest.approx(table.train_error[table.chosen, j], rel=1e-5)
        dof = page.locator("[data-quantity=dof]").text_content()
        assert float(dof.partition(" ±")[0]) == pytest.approx(table.dof[table.chosen, j], rel=1e-3)
        assert "times the error" in page.locator("#members-now").text_content()
    assert page.locator("#knob").count() == 0
    assert page.locator(".uplot").count() == (2 if lam == 0.5 else 4)
    for width in (360, 1100):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_is_wider_than_the_screen(opened, width):
    model, X, y = model_of()
    page = opened(model, X, y)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".uplot").count() == 5
