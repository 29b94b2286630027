"""Experiments by name: what a request means, and how unknown names are refused."""

import subprocess
import sys

import pytest

from negcorr.paper.catalogue import (
    ALL,
    BEYOND,
    COMPANIONS,
    DEEP,
    EXPERIMENTS,
    PAPER,
    chosen_experiments,
)
from negcorr.paper.figures import table1


def test_experiments_come_in_the_order_of_the_page_and_once():
    assert list(chosen_experiments(["table1", "figure3", "table1"])) == ["figure3", "table1"]


def test_all_is_every_experiment():
    assert chosen_experiments([ALL]) == EXPERIMENTS
    assert chosen_experiments(["figure1", ALL]) == EXPERIMENTS
    assert {*PAPER, *BEYOND} == set(EXPERIMENTS)
    assert set(PAPER) == {*(f"figure{k}" for k in (1, 3, 4, 5, 7, 8)), "table1"}


def test_all_leaves_out_what_uses_none_of_the_sets():
    chosen = chosen_experiments([ALL], ("slump", "housing"))
    assert set(EXPERIMENTS) - set(chosen) == {"figure3"}
    chosen = chosen_experiments([ALL], ("slump",))
    simple = {"figure1", "figure3", "figure4", "figure5", "split"}
    assert set(EXPERIMENTS) - set(chosen) == {*simple, *DEEP}
    # What is asked for by name is not left out in silence.
    assert "figure3" in chosen_experiments([ALL, "figure3"], ("slump",))


def test_all_has_only_those_deep_networks_that_it_is_told_to():
    assert set(DEEP) < set(EXPERIMENTS)
    assert set(chosen_experiments([ALL], deep=())) == set(EXPERIMENTS) - set(DEEP)
    some = chosen_experiments([ALL], deep=("figure8",))
    assert set(some) == set(EXPERIMENTS) - set(DEEP) | {"figure8"}
    # What is asked for by name is not left out in silence.
    named = chosen_experiments([ALL, "held-out-error"], deep=())
    assert set(named) == set(EXPERIMENTS) - set(DEEP) | {"held-out-error"}


@pytest.mark.parametrize(("name", "companion"), COMPANIONS.items())
def test_what_is_drawn_from_the_same_pieces_comes_along(name, companion):
    assert list(chosen_experiments([name])) == [name, companion]
    assert list(chosen_experiments([companion])) == [companion]


@pytest.mark.parametrize(
    ("name", "nearest"), [("figur1", "figure1"), ("tabel1", "table1"), ("splits", "split")]
)
def test_unknown_experiments_are_met_with_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=rf"'{name}' is unknown\. Did you mean '{nearest}'\?"):
        chosen_experiments(["figure3", name])


def test_names_that_are_near_nothing_are_met_with_all():
    with pytest.raises(ValueError, match=r"'xyz' is unknown\. Allowed are \['figure1', .*'all'\]"):
        chosen_experiments(["xyz"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("figure2", "a diagram; 'all' draws it."),
        ("figure6", "a diagram; 'all' draws it."),
    ],
)
def test_figures_that_are_no_experiments_say_why(name, message):
    with pytest.raises(ValueError, match=rf"^experiment '{name}': {message}$"):
        chosen_experiments(["figure1", name])


def test_no_names_are_refused():
    with pytest.raises(ValueError, match=r"name at least one experiment"):
        chosen_experiments([])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_what_the_page_needs(name):
    module = EXPERIMENTS[name]
    assert name == module.NAME
    assert module.TITLE
    assert module.CAPTION
    needed = {"pieces", "run", "claims"} | (set() if module is table1 else {"plot"})
    assert all(callable(getattr(module, function)) for function in needed)


LAZY = """
import sys
import negcorr.paper as package
assert set(package.__all__) <= set(dir(package))
loaded = [name for name in sys.modules if name.startswith(("negcorr.paper.fig", "negcorr.paper.b"))]
assert not loaded, loaded
from negcorr.paper.catalogue import EXPERIMENTS
assert len(EXPERIMENTS) == 13
loaded = {"matplotlib", "torch"} & set(sys.modules)
assert not loaded, loaded
"""


def test_experiments_load_what_draws_and_trains_only_when_it_is_needed():
    done = subprocess.run(
        [sys.executable, "-c", LAZY], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("folder", "group"), [("figures", PAPER), ("beyond", BEYOND)])
def test_every_experiment_is_a_module_of_its_folder(folder, group):
    for name, module in group.items():
        assert module.__name__ == f"negcorr.paper.{folder}.{name.replace('-', '_')}"
