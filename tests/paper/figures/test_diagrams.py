"""Figures 2 and 6: diagrams that say what is fixed, what is trained, and by which loss."""

import warnings

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle

from negcorr.paper.figure_style import save
from negcorr.paper.figures import figure2, figure6


@pytest.fixture(scope="module")
def diagrams():
    return {module: module.plot() for module in (figure2, figure6)}


@pytest.fixture(params=[figure2, figure6], ids=lambda module: module.NAME)
def module(request):
    return request.param


@pytest.fixture
def figure(module, diagrams):
    return diagrams[module]


def texts(figure):
    return [text for text in figure.axes[0].texts if text.get_text()]


def written(figure):
    return {text.get_text() for text in texts(figure)}


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3]


def test_every_symbol_of_figure_2_is_there(diagrams):
    for name in ("1", "2", "M"):
        symbols = {rf"$\phi_{name}(x)\in\mathbb{{R}}^H$", f"$w_{name}$", f"$f_{name}(x)$"}
        assert symbols <= written(diagrams[figure2])
    assert {"$x$", "$F(x)$", "fixed", "trained", "averaged"} <= written(diagrams[figure2])


def test_every_symbol_of_figure_6_is_there(diagrams):
    found = written(diagrams[figure6])
    assert {"$x$", "$y$", "$F(x)$", "$f_1(x)$", "$f_2(x)$", "$f_M(x)$"} <= found
    assert any("tanh" in text and "batch norm" in text for text in found)
    assert any(text.startswith(r"$L_\lambda=") for text in found)


def test_texts_do_not_meet_and_stay_on_the_sheet(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts(figure)]
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1
        meeting = [texts(figure)[j].get_text() for j in range(k) if box.overlaps(boxes[j])]
        assert not meeting, (texts(figure)[k].get_text(), meeting)


def test_diagrams_are_in_ink_and_in_colour(figure):
    drawn = pixels(figure)
    assert 0.02 < np.mean((drawn < 200).any(axis=2)) < 0.5
    for colour in (figure2.TRAINED["color"], figure2.MEAN["color"]):
        assert (np.abs(drawn / 255 - to_rgb(colour)).max(axis=2) < 0.02).sum() > 100


def test_diagrams_are_written_without_warnings_and_the_same_every_time(module, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = save(module.plot(), tmp_path / "first")
        second = save(module.plot(), tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_kinds_of_lines_differ_in_style_as_well_as_in_colour():
    looks = [figure2.FIXED, figure2.TRAINED, figure2.MEAN]
    assert len({str(look["ls"]) for look in looks}) == 3
    assert len({to_rgb(look["color"]) for look in looks}) == 3


def test_everything_before_the_members_is_trained(diagrams):
    figure = diagrams[figure6]
    small = [
        patch
        for patch in figure.axes[0].patches
        if isinstance(patch, Circle) and patch.radius == figure2.SMALL
    ]
    assert len(small) == 3 * 3 * len(figure6.LAYERS)  # three nodes a layer, three networks
    assert {patch.get_edgecolor()[:3] for patch in small} == {to_rgb(figure2.TRAINED["color"])}
    dashed = [line for line in figure.axes[0].lines if line.get_color() == figure2.FIXED["color"]]
    assert not dashed


def test_an_arrow_ends_where_the_node_begins():
    canvas = figure2.Canvas.blank(4.0, 4.0)
    canvas.arrow([(0.0, 0.0), (3.0, 0.0)], figure2.FIXED, radius=0.5)
    assert canvas.axes.patches[-1].get_xy()[:, 0].max() == pytest.approx(2.5)
    assert canvas.axes.lines[-1].get_xdata().max() < 2.5


def test_an_inch_stays_an_inch():
    canvas = figure2.Canvas.blank(3.0, 2.0, below=1.0)
    (x0, y0), (x1, y1) = canvas.axes.transData.transform([(0.0, -1.0), (1.0, 0.0)])
    assert (x1 - x0, y1 - y0) == pytest.approx((canvas.figure.dpi, canvas.figure.dpi))
    assert tuple(canvas.figure.get_size_inches()) == (3.0, 3.0)
