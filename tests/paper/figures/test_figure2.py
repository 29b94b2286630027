"""Figure 2: a diagram that says what is fixed and what is trained."""

import warnings

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from negcorr.paper.figure_style import save
from negcorr.paper.figures import figure2


@pytest.fixture(scope="module")
def figure():
    return figure2.plot()


def texts(figure):
    return [text for text in figure.axes[0].texts if text.get_text()]


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3]


def test_every_symbol_is_there(figure):
    written = {text.get_text() for text in texts(figure)}
    for name in ("1", "2", "M"):
        assert {rf"$\phi_{name}(x)\in\mathbb{{R}}^H$", f"$w_{name}$", f"$f_{name}(x)$"} <= written
    assert {"$x$", "$F(x)$", "fixed", "trained", "averaged"} <= written


def test_texts_do_not_meet_and_stay_on_the_sheet(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts(figure)]
    sheet = figure.bbox
    for k, box in enumerate(boxes):
        assert sheet.x0 <= box.x0
        assert box.x1 <= sheet.x1
        assert sheet.y0 <= box.y0
        assert box.y1 <= sheet.y1
        meeting = [texts(figure)[j].get_text() for j in range(k) if box.overlaps(boxes[j])]
        assert not meeting, (texts(figure)[k].get_text(), meeting)


def test_kinds_of_lines_differ_in_style_as_well_as_in_colour():
    looks = [figure2.FIXED, figure2.TRAINED, figure2.MEAN]
    assert len({str(look["ls"]) for look in looks}) == 3
    assert len({to_rgb(look["color"]) for look in looks}) == 3


def test_is_in_ink_and_in_colour(figure):
    drawn = pixels(figure)
    assert 0.02 < np.mean((drawn < 200).any(axis=2)) < 0.5
    for colour in (figure2.TRAINED["color"], figure2.MEAN["color"]):
        assert (np.abs(drawn / 255 - to_rgb(colour)).max(axis=2) < 0.02).sum() > 100


def test_is_written_without_warnings_and_the_same_every_time(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = save(figure2.plot(), tmp_path / "first")
        second = save(figure2.plot(), tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


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
