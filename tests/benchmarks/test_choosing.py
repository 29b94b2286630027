"""The benchmarks behind the pages about choosing and about long tails, at toy size."""

import json

import numpy as np
import pytest
from benchmark_programs import program

from negcorr.bases import FourierFeatures


@pytest.fixture
def benchmarks(monkeypatch):
    """Both programs, with a made data set in place of those of the paper."""
    found = [program("choosing"), program("long_tails")]
    for module in found:
        monkeypatch.setattr(module, "arrays", toy)
    return found


def toy(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    return X, np.exp(np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(70, 1)))


def test_a_figure_is_drawn_from_what_is_measured(benchmarks, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    choosing, _ = benchmarks
    small = FourierFeatures(6, 4)
    panels = {"criterion": {name: {"basis": small, "criterion": name} for name in ("kfold", "gcv")}}
    monkeypatch.setattr(choosing, "PANELS", panels)
    monkeypatch.setattr(choosing, "DATA", tmp_path)
    out, figure = tmp_path / "choosing.json", tmp_path / "choosing"
    choosing.main(["--sets", "one", "two", "--out", str(out), "--figure", str(figure)])
    found = json.loads(out.read_text("utf-8"))
    assert list(found) == ["one", "two"]
    assert set(found["one"]) == {"criterion", "path", "chosen"}
    assert 0 < found["one"]["chosen"] < 1
    assert figure.with_suffix(".svg").exists()
    before = out.read_bytes()
    choosing.main(["--draw", "--out", str(out), "--figure", str(figure)])
    assert out.read_bytes() == before


def test_both_ways_are_tried_on_every_fold(benchmarks, capsys):
    _, long_tails = benchmarks
    long_tails.main(["--sets", "one"])
    title, row, together = capsys.readouterr().out.splitlines()
    assert title.startswith("data set")
    name, *found = row.split()
    assert name == "one"
    # As it is, moved, and by Huber's loss; then what the last two differ by, in standard errors.
    plain, *others = map(float, found[:3])
    assert all(0 < error < 1 for error in (plain, *others))
    assert len(found) == 5
    name, *changes = together.split()
    assert (name, changes[0]) == ("together", "+0.0%")
    for other, change in zip(others, changes[1:], strict=True):
        expected = 100 * (other / plain - 1)
        assert abs(float(change.rstrip("%")) - expected) < 0.1 + 0.02 / plain
