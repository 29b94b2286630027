"""What decides on the numbers, and seeds that do not depend on order."""

import dataclasses

import numpy as np
import pytest

from negcorr.experiments import FULL, QUICK, Setup, Size


def test_defaults_are_the_papers():
    setup = Setup()
    assert (setup.protocol, setup.shuffle, setup.seed, setup.size) == ("paper", False, 0, FULL)
    assert (FULL.n_features, FULL.width, FULL.widths) == (1000, 10, (5, 10, 20))
    assert FULL.max_rows is None


def test_a_quick_look_has_less_of_everything():
    assert QUICK.n_features < FULL.n_features
    assert QUICK.repeats < FULL.repeats
    assert QUICK.max_rows is not None
    assert (QUICK.width, QUICK.widths) == (FULL.width, FULL.widths)


def test_unknown_protocols_are_met_with_the_allowed_ones():
    with pytest.raises(ValueError, match=r"protocol='Paper' is unknown; .*'paper', 'printed'"):
        Setup(protocol="Paper")


@pytest.mark.parametrize("seed", [1.0, "1", None, True, np.float64(2)])
def test_seed_must_be_an_integer(seed):
    with pytest.raises(TypeError, match=r"seed=.* must be an integer, got"):
        Setup(seed=seed)


def test_seed_must_not_be_negative():
    with pytest.raises(ValueError, match=r"seed=-1 must not be negative"):
        Setup(seed=-1)


def test_setups_are_values():
    assert Setup(seed=3) == Setup(seed=3)
    assert hash(Setup(seed=3)) == hash(Setup(seed=3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Setup().seed = 1


def test_another_protocol_changes_nothing_else():
    setup = Setup(shuffle=True, seed=5, size=QUICK)
    other = setup.under("printed")
    assert other == Setup("printed", True, 5, QUICK)
    assert setup.protocol == "paper"
    with pytest.raises(ValueError, match=r"protocol='else'"):
        setup.under("else")


@pytest.mark.parametrize(
    ("total", "width", "members"), [(1000, 10, 100), (1000, 5, 200), (10, 3, 3), (2, 5, 1)]
)
def test_members_make_up_the_features(total, width, members):
    assert Setup(size=Size(n_features=total)).members(width) == members


def test_seeds_are_the_same_in_any_order_and_on_any_machine():
    setup = Setup(seed=7)
    forwards = [setup.seed_for("features", "machine", fold, 10) for fold in range(5)]
    backwards = [setup.seed_for("features", "machine", fold, 10) for fold in reversed(range(5))]
    assert forwards == backwards[::-1]
    # Numbers of every published run depend on this one.
    assert forwards[0] == 392117579


def test_seeds_differ_by_every_label_and_by_the_seed():
    seeds = [
        Setup(seed=seed).seed_for(purpose, name, fold)
        for seed in (0, 1, 2)
        for purpose in ("features", "folds")
        for name in ("machine", "slump", "enihcam")
        for fold in range(5)
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)


def test_seeds_do_not_depend_on_what_else_is_set():
    seeds = {
        Setup(protocol, shuffle, 3, size).seed_for("features", "machine", 0)
        for protocol in ("paper", "printed")
        for shuffle in (False, True)
        for size in (FULL, QUICK)
    }
    assert len(seeds) == 1
