"""The look of figures: the same bytes every time, whatever the user's settings are."""

import io

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from negcorr.paper.figure_style import (
    COLOURS,
    band,
    mark_beyond,
    new_figure,
    panels_by_set,
    plain_log_ticks,
    save,
    style,
)


def a_figure():
    with style():
        figure = new_figure(3.0, 2.0)
        axes = figure.subplots()
        folds = pd.DataFrame([[0.0, 1.0, 2.0], [2.0, 1.0, 4.0]])
        band(axes, folds, color="C1", label="a")
        axes.set(xlabel="diversity parameter λ", title="10$^{-12}$")
        figure.legend(loc="outside upper center")
    return figure


def axes_of(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


# ---------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------


def test_both_files_are_written_and_nothing_else(tmp_path):
    paths = save(a_figure(), tmp_path / "new" / "figure")
    assert [path.name for path in paths] == ["figure.svg", "figure.png"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "figure.png",
        "figure.svg",
    ]
    assert paths[0].read_text(encoding="utf-8").startswith("<?xml")
    picture = imread(paths[1])
    assert picture.shape[:2] == (320, 480)
    assert picture.std() > 0.01


def test_the_same_figure_has_the_same_bytes(tmp_path):
    once = [path.read_bytes() for path in save(a_figure(), tmp_path / "one")]
    again = [path.read_bytes() for path in save(a_figure(), tmp_path / "two")]
    assert once == again


def test_a_figure_saved_twice_has_the_same_bytes(tmp_path):
    figure = a_figure()
    once = [path.read_bytes() for path in save(figure, tmp_path / "one")]
    assert [path.read_bytes() for path in save(figure, tmp_path / "two")] == once


def test_the_users_settings_make_no_difference(tmp_path):
    plain = [path.read_bytes() for path in save(a_figure(), tmp_path / "one")]
    changes = {
        "font.size": 30.0,
        "axes.grid": False,
        "savefig.dpi": 50,
        "svg.hashsalt": "mine",
        "axes.facecolor": "black",
        "savefig.bbox": "tight",
    }
    with matplotlib.rc_context(changes):
        ours = [path.read_bytes() for path in save(a_figure(), tmp_path / "two")]
    assert ours == plain


def test_files_carry_no_date_and_no_version(tmp_path):
    svg, png = save(a_figure(), tmp_path / "figure")
    assert b"<dc:date>" not in svg.read_bytes()
    assert b"Matplotlib version" not in png.read_bytes()


def test_a_failure_while_drawing_leaves_the_old_file(tmp_path, monkeypatch):
    figure = a_figure()
    old = [path.read_bytes() for path in save(figure, tmp_path / "figure")]

    def fail(*arguments, **keywords):
        raise MemoryError

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(MemoryError):
        save(figure, tmp_path / "figure")
    assert [(tmp_path / f"figure.{kind}").read_bytes() for kind in ("svg", "png")] == old
    assert len(list(tmp_path.iterdir())) == 2


# ---------------------------------------------------------------------------------------
# Style
# ---------------------------------------------------------------------------------------


def test_the_style_ends_with_its_block():
    with matplotlib.rc_context({"font.size": 17.0}):
        before = dict(matplotlib.rcParams)
        with style():
            assert matplotlib.rcParams["font.size"] == 9.0
            assert matplotlib.rcParams["axes.grid"]
        assert dict(matplotlib.rcParams) == before


def test_the_style_ends_when_its_block_fails():
    before = dict(matplotlib.rcParams)
    with pytest.raises(KeyError), style():
        raise KeyError
    assert dict(matplotlib.rcParams) == before


def test_no_windows_are_opened(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    a_figure().savefig(io.BytesIO())


def test_colours_are_told_apart():
    assert len(set(COLOURS)) == len(COLOURS) == 7


# ---------------------------------------------------------------------------------------
# Panels, bands, arrows
# ---------------------------------------------------------------------------------------


def panels(names):
    """A figure with an empty panel for each set."""
    with panels_by_set(pd.DataFrame({"set": names}), "x", "y") as (figure, parts):
        assert [set(part["set"]) for _, part in parts] == [{name} for name in names]
    return figure, [axes for axes, _ in parts]


NAMES = ["machine", "california", "wisconsin", "housing", "triazines", "kinematics", "slump"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_there_is_one_visible_panel_for_each_set(n):
    figure, grid = panels(NAMES[:n])
    assert axes_of(figure) == grid
    titles = [axes.get_title() for axes in grid]
    assert titles == [name.capitalize() for name in NAMES[:n]]


def test_there_is_one_legend_and_a_label_for_each_axis():
    table = pd.DataFrame({"set": NAMES[:2], "value": [1.0, 2.0]})
    with panels_by_set(table, "across", "upwards", legend_rows=2) as (figure, parts):
        for axes, part in parts:
            axes.plot([0, 1], [0, part["value"].item()], label="in both")
        parts[1][0].plot([0, 1], [1, 0], label="in one")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["in both", "in one"]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("across", "upwards")
    assert not any(axes.get_legend() for axes in figure.axes)


def test_panels_share_their_axes():
    _, grid = panels(NAMES)
    with style():
        grid[0].set(xlim=(0, 5), ylim=(1, 3))
    assert {axes.get_xlim() for axes in grid} == {(0, 5)}
    assert {axes.get_ylim() for axes in grid} == {(1, 3)}


def test_panels_above_an_empty_place_have_their_labels():
    figure, grid = panels(NAMES[:4])
    with style():
        figure.draw_without_rendering()
    for axes in grid:
        labels = [label for label in axes.get_xticklabels() if label.get_visible()]
        assert any(label.get_text() for label in labels)


def test_a_band_is_the_mean_and_one_standard_error():
    values = np.random.default_rng(0).normal(size=(5, 4))
    with style():
        axes = new_figure(3, 2).subplots()
        band(axes, pd.DataFrame(values), color=COLOURS[2], label="of five")
    (line,) = axes.lines
    np.testing.assert_allclose(line.get_ydata(), values.sum(axis=0) / 5)
    assert (line.get_color(), line.get_label()) == (COLOURS[2], "of five")
    corners = axes.collections[0].get_paths()[0].vertices
    for k in range(4):
        column = values[:, k]
        error = np.sqrt(sum((column - column.mean()) ** 2) / 4 / 5)
        ends = corners[corners[:, 0] == k][:, 1]
        np.testing.assert_allclose(
            [ends.min(), ends.max()], [column.mean() - error, column.mean() + error]
        )


def test_a_single_fold_has_no_band():
    with style():
        axes = new_figure(3, 2).subplots()
        band(axes, pd.DataFrame([[1.0, 2.0]]), color=COLOURS[0])
    assert len(axes.lines) == 1
    assert len(axes.collections) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.345, "2.3"), (34.4, "34"), (9876.0, "9876"), (123456.0, "1.2·10$^{5}$")],
)
def test_values_beyond_the_axis_are_marked_and_named(value, text):
    with style():
        axes = new_figure(3, 2).subplots()
        axes.set(xlim=(0, 1), ylim=(0, 1.75))
        mark_beyond(axes, 1.0, value, COLOURS[1])
    assert [one.get_text() for one in axes.texts] == [text]
    assert [one.get_marker() for one in axes.lines] == ["^"]
    assert axes.get_ylim() == (0, 1.75)


@pytest.mark.parametrize("value", [0.3, 1.75])
def test_values_on_the_axis_are_not_marked(value):
    with style():
        axes = new_figure(3, 2).subplots()
        axes.set(ylim=(0, 1.75))
        mark_beyond(axes, 1.0, value, COLOURS[1])
    assert not axes.texts
    assert not axes.lines


@pytest.mark.parametrize(
    ("low", "high"), [(0.8, 0.95), (1.0, 4.0), (12.0, 99.0), (1.0, 20.0), (3.0, 4000.0)]
)
def test_logarithmic_axes_have_a_few_ticks_in_plain_numbers(low, high):
    with style():
        figure = new_figure(3.0, 2.0)
        axes = figure.subplots()
        axes.plot([0, 1], [low, high])
        axes.set(yscale="log", ylim=(low, high))
        plain_log_ticks(axes)
        figure.draw_without_rendering()
    shown = [tick for tick in axes.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert 2 <= len(shown) <= 11
    for tick in shown:
        assert float(tick.label1.get_text()) == pytest.approx(tick.get_loc())
    assert len(axes.yaxis.get_minorticklocs()) == 0
