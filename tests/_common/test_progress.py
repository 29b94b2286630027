"""Progress: shown by what is installed, told to callbacks, and always taken down."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from negcorr._common import progress as module
from negcorr._common.progress import progress_bar

try:
    # Imported before any test hides rich, which the module looks for only once.
    import sklearn.callback as sklearn_callback
except ImportError:
    sklearn_callback = None

needs_callbacks = pytest.mark.skipif(
    sklearn_callback is None, reason="this scikit-learn has no callbacks"
)


class Recorder:
    """A callback that writes down what it is told, and may fail or ask to stop."""

    def __init__(self, fail_at=None, stop=False):
        self.events = []
        self.totals = []
        self.fail_at = fail_at
        self.stop = stop

    def write(self, hook, context):
        self.events.append((hook, context.task_name, context.task_id))
        if hook == self.fail_at:
            raise RuntimeError(f"at {hook}")

    def setup(self, estimator, context):
        self.totals.append(context.max_subtasks)
        self.write("setup", context)

    def on_fit_task_begin(self, estimator, context):
        self.write("begin", context)

    def on_fit_task_end(self, estimator, context):
        self.write("end", context)
        return self.stop

    def teardown(self, estimator, context):
        self.write("teardown", context)


OPENING = [("setup", "folds", 0), ("begin", "folds", 0)]
CLOSING = [("end", "folds", 0), ("teardown", "folds", 0)]


def pieces(number):
    return [(hook, "piece", i) for i in range(number) for hook in ("begin", "end")]


def hide(monkeypatch, *names):
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def run(progress, total, number, error=None):
    """Work of some pieces, with an error after the last of them if there is one."""
    with progress_bar(progress, total, "folds") as advance:
        for _ in range(number):
            advance()
        if error is not None:
            raise error


@pytest.mark.parametrize("progress", [False, None, np.False_])
def test_nothing_is_shown_unless_asked_for(progress, capfd):
    run(progress, 2, 3)
    assert capfd.readouterr() == ("", "")


@needs_callbacks
@pytest.mark.parametrize("total", [3, None])
def test_callback_hears_of_the_work_and_of_each_piece_in_order(total):
    callback = Recorder()
    run(callback, total, 3)
    assert callback.events == OPENING + pieces(3) + CLOSING
    assert callback.totals == [total]


@needs_callbacks
def test_callback_is_told_at_once():
    callback = Recorder()
    with progress_bar(callback, 2, "folds") as advance:
        assert callback.events == OPENING
        advance()
        assert callback.events == OPENING + pieces(1)


@needs_callbacks
@pytest.mark.parametrize("total", [0, 2])
def test_pieces_beyond_the_total_are_not_told(total):
    callback = Recorder()
    run(callback, total, 4)
    assert callback.events == OPENING + pieces(total) + CLOSING


@needs_callbacks
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_callback_is_taken_down_once_when_the_work_fails(error):
    callback = Recorder()
    with pytest.raises(error):
        run(callback, 3, 1, error)
    # The work has not ended, so that no end of it is told.
    assert callback.events == OPENING + pieces(1) + CLOSING[-1:]


@needs_callbacks
@pytest.mark.parametrize("hook", ["setup", "begin", "end"])
def test_callback_is_taken_down_when_it_fails_itself(hook):
    callback = Recorder(fail_at=hook)
    with pytest.raises(RuntimeError, match=f"at {hook}"):
        run(callback, 3, 1)
    assert callback.events[-1] == CLOSING[-1]
    assert callback.events.count(CLOSING[-1]) == 1


@needs_callbacks
def test_callback_cannot_stop_the_work():
    callback = Recorder(stop=True)
    run(callback, 3, 3)
    assert callback.events == OPENING + pieces(3) + CLOSING


@needs_callbacks
def test_callback_serves_many_runs():
    callback = Recorder()
    run(callback, 1, 1)
    run(callback, 1, 1)
    assert callback.events == 2 * (OPENING + pieces(1) + CLOSING)


@needs_callbacks
@pytest.mark.parametrize("progress", [True, np.True_])
def test_rich_draws_a_bar_that_names_the_work(progress, capfd):
    pytest.importorskip("rich")
    run(progress, 3, 3)
    shown = capfd.readouterr().out
    assert "Negcorr - folds" in shown
    assert "100%" in shown


@needs_callbacks
def test_rich_draws_a_bar_of_unknown_length(capfd):
    pytest.importorskip("rich")
    run(True, None, 3)
    assert "Negcorr - folds" in capfd.readouterr().out


@needs_callbacks
def test_bar_of_rich_stays_where_failing_work_left_it(capfd):
    pytest.importorskip("rich")
    with pytest.raises(KeyboardInterrupt):
        run(True, 2, 1, KeyboardInterrupt)
    shown = capfd.readouterr().out
    assert " 50%" in shown
    assert "100%" not in shown


@pytest.mark.parametrize("missing", ["rich", "sklearn.callback"])
@pytest.mark.parametrize(
    ("total", "number", "shown"), [(3, 3, "3/3"), (3, 5, "3/3"), (None, 3, "3it")]
)
def test_tqdm_draws_the_bar_where_scikit_learn_cannot(
    missing, total, number, shown, monkeypatch, capfd
):
    pytest.importorskip("tqdm")
    hide(monkeypatch, missing)
    run(True, total, number)
    last = capfd.readouterr().err.split("\r")[-1]
    assert "folds" in last
    assert shown in last


def test_bar_of_tqdm_is_closed_when_the_work_fails(monkeypatch, capfd):
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    hide(monkeypatch, "rich")
    with pytest.raises(KeyboardInterrupt):
        run(True, 3, 1, KeyboardInterrupt)
    assert "1/3" in capfd.readouterr().err.split("\r")[-1]
    assert not tqdm._instances


@pytest.mark.parametrize("missing", ["rich", "sklearn.callback"])
def test_error_says_what_to_install(missing, monkeypatch):
    hide(monkeypatch, missing, "tqdm", "tqdm.auto")
    with pytest.raises(ImportError, match=r"install rich .* or tqdm, or leave progress=False"):
        run(True, 3, 3)


@pytest.mark.parametrize("progress", [0, 1, "rich", object(), Recorder, [True]])
def test_other_values_are_refused_by_name(progress):
    with pytest.raises(TypeError, match="must be True, False, None or an instance") as caught:
        run(progress, 3, 3)
    assert str(caught.value).startswith(f"progress={progress!r} ")


def test_callback_is_refused_where_scikit_learn_has_none(monkeypatch):
    hide(monkeypatch, "sklearn.callback")
    with pytest.raises(TypeError, match=r"callbacks need scikit-learn 1\.9 or newer"):
        run(Recorder(), 3, 3)


def test_importing_the_module_loads_nothing_optional():
    # Run as a file of its own: scikit-learn's model selection, which the package needs, loads
    # scikit-learn's callbacks itself.
    code = (
        f"import runpy, sys; runpy.run_path({module.__file__!r}); "
        "print({'rich', 'tqdm', 'sklearn.callback'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture(params=["rich", "tqdm"])
def drawn(request, monkeypatch, capfd):
    """What was drawn by one of the libraries."""
    pytest.importorskip(request.param)
    if request.param == "tqdm":
        hide(monkeypatch, "rich", "rich.progress")
    return lambda: capfd.readouterr().err.replace("\r", "\n").split("\n")


@pytest.mark.parametrize("total", [2_000_000, None])
def test_units_are_counted_with_their_rate(total, drawn):
    with progress_bar(True, total, "pass 1 of 2", "rows") as advance:
        advance(500_000)
        advance(1_500_000)
    last = [line for line in drawn() if line.strip()][-1]
    assert "pass 1 of 2" in last
    assert "2.00M/2.00M" in last if total else "2.00M rows" in last
    assert "rows/s" in last


def test_units_beyond_the_total_are_not_shown(drawn):
    with progress_bar(True, 100, "rows", "rows") as advance:
        advance(70)
        advance(70)
        advance(70)
    assert any("100/100" in line for line in drawn())


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_bar_of_units_stays_where_failing_work_left_it(error, drawn):
    def fail():
        with progress_bar(True, 100, "rows", "rows") as advance:
            advance(30)
            raise error

    with pytest.raises(error):
        fail()
    text = "\n".join(drawn())
    assert "30" in text
    assert "100/100" not in text
    # Nothing goes on drawing; rich does not wait for its thread.
    for thread in threading.enumerate():
        if "Refresh" in type(thread).__name__:
            thread.join(5.0)
            assert not thread.is_alive()


def test_error_says_what_to_install_for_units(monkeypatch):
    hide(monkeypatch, "rich", "rich.progress", "tqdm", "tqdm.auto")
    with (
        pytest.raises(ImportError, match="install rich or tqdm, or leave progress=False"),
        progress_bar(True, 3, "rows", "rows"),
    ):
        pass


@pytest.mark.parametrize(
    ("done", "total", "seconds", "words"),
    [
        (0, None, 0.0, ("0 rows", "", "")),
        (0, 50, 9.0, ("0/50 rows", "", "")),
        (131072, 2_000_000, 0.5, ("131k/2.00M rows", "262k rows/s", "0:00:07 left")),
        (10, 36_010, 1.0, ("10/36.0k rows", "10 rows/s", "1:00:00 left")),
        (999_500, 999_500, 2.0, ("1.00M/1.00M rows", "500k rows/s", "")),
        (5 * 10**9, None, 1.0, ("5.00G rows", "5.00G rows/s", "")),
    ],
)
def test_units_are_told_in_short(done, total, seconds, words):
    assert tuple(module._in_words(done, total, "rows", seconds).values()) == words


@needs_callbacks
def test_callback_hears_of_pieces_whatever_their_units():
    callback = Recorder()
    with progress_bar(callback, None, "folds", "rows") as advance:
        advance(500)
        advance(3)
    assert callback.events == OPENING + pieces(2) + CLOSING
