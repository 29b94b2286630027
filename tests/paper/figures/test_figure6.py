"""Figure 6: a diagram of deep networks and the loss that trains them all."""

import warnings

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle

from negcorr.paper.figure_style import save
from negcorr.paper.figures import figure2, figure6


@pytest.fixture(scope="module")
def figure():
    return figure6.plot()


def texts(figure):
    return [text for text in figure.axes[0].texts if text.get_text()]


def test_every_symbol_is_there(figure):
    written = {text.get_text() for text in texts(figure)}
    assert {"$x$", "$y$", "$F(x)$", "$f_1(x)$", "$f_2(x)$", "$f_M(x)$"} <= written
    assert any("tanh" in text and "batch norm" in text for text in written)
    assert any(text.startswith(r"$L_\lambda=") for text in written)


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


def test_everything_before_the_members_is_trained(figure):
    small = [
        patch
        for patch in figure.axes[0].patches
        if isinstance(patch, Circle) and patch.radius == figure2.SMALL
    ]
    assert len(small) == 3 * 3 * len(figure6.LAYERS)  # three nodes a layer, three networks
    assert {patch.get_edgecolor()[:3] for patch in small} == {to_rgb(figure2.TRAINED["color"])}
    dashed = [line for line in figure.axes[0].lines if line.get_color() == figure2.FIXED["color"]]
    assert not dashed


def test_is_in_ink(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())[:, :, :3]
    assert 0.02 < np.mean((drawn < 200).any(axis=2)) < 0.5


def test_is_written_without_warnings_and_the_same_every_time(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = save(figure6.plot(), tmp_path / "first")
        second = save(figure6.plot(), tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
