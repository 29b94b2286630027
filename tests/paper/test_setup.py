"""What decides on the numbers, and seeds that do not depend on order."""

import dataclasses
import hashlib
import re

import numpy as np
import pytest

from negcorr.paper.setup import FULL, QUICK, Setup, Size


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
    with pytest.raises(ValueError, match=r"seed=-1 must be at least 0"):
        Setup(seed=-1)


@pytest.mark.parametrize("shuffle", [1, 0, None, "yes", np.True_])
def test_shuffle_must_be_true_or_false(shuffle):
    with pytest.raises(TypeError, match=rf"^shuffle={re.escape(repr(shuffle))} must be True or Fa"):
        Setup(shuffle=shuffle)


@pytest.mark.parametrize("size", [None, "quick", 100, Size, {"n_features": 100}])
def test_size_must_be_a_size(size):
    with pytest.raises(TypeError, match=r"^size=.* must be a Size, such as FULL or QUICK\.$"):
        Setup(size=size)


# ---------------------------------------------------------------------------------------
# Sizes
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [(), [], [5, 10], 5, None, "5", {5}, np.array([5, 10])])
def test_widths_must_be_a_tuple_that_has_something(widths):
    message = rf"widths={re.escape(repr(widths))} must be a tuple of integers, and not empty."
    with pytest.raises(TypeError, match=message):
        Size(widths=widths)


@pytest.mark.parametrize("width", [5.0, "5", None, True])
def test_every_width_must_be_an_integer(width):
    with pytest.raises(TypeError, match=rf"^widths={width!r} must be an integer, got"):
        Size(widths=(5, width))


@pytest.mark.parametrize("width", [0, -3])
def test_every_width_must_be_positive(width):
    with pytest.raises(ValueError, match=rf"^widths={width} must be at least 1\.$"):
        Size(widths=(5, width))


@pytest.mark.parametrize("name", ["n_features", "width", "repeats", "max_rows"])
@pytest.mark.parametrize("value", [50.0, "50", True])
def test_numbers_must_be_integers(name, value):
    with pytest.raises(TypeError, match=rf"^{name}={value!r} must be an integer, got"):
        Size(**{name: value})


@pytest.mark.parametrize("name", ["n_features", "width", "repeats"])
def test_only_rows_can_be_none(name):
    assert Size(max_rows=None).max_rows is None
    with pytest.raises(TypeError, match=rf"^{name}=None must be an integer, got NoneType"):
        Size(**{name: None})


@pytest.mark.parametrize("name", ["n_features", "width", "repeats", "max_rows"])
@pytest.mark.parametrize("value", [0, -1])
def test_numbers_must_be_positive(name, value):
    with pytest.raises(ValueError, match=rf"^{name}={value} must be at least 1\.$"):
        Size(**{name: value})


@pytest.mark.parametrize(("widths", "width"), [((5, 21), 10), ((5,), 21), ((21, 5), 5)])
def test_a_member_has_no_more_features_than_there_are(widths, width):
    message = r"^n_features=20 must be at least the width of a member, 21\.$"
    with pytest.raises(ValueError, match=message):
        Size(n_features=20, widths=widths, width=width)
    assert Size(n_features=21, widths=widths, width=width).n_features == 21


def test_there_must_be_rows_for_five_folds_within_five():
    with pytest.raises(ValueError, match=r"^max_rows=24 must be at least 25: rows are split into"):
        Size(max_rows=24)
    assert Size(max_rows=25).max_rows == 25


def test_the_smallest_size_is_one_of_everything():
    size = Size(n_features=1, widths=(1,), width=1, max_rows=25, repeats=1)
    assert dataclasses.astuple(size) == (1, (1,), 1, 25, 1)


# ---------------------------------------------------------------------------------------
# Setups
# ---------------------------------------------------------------------------------------


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
    ("total", "width", "members"), [(1000, 10, 100), (1000, 5, 200), (10, 3, 3), (20, 25, 1)]
)
def test_members_make_up_the_features(total, width, members):
    size = Size(n_features=total, widths=(2, 10), width=10)
    assert Setup(size=size).members(width) == members


def test_seeds_are_the_same_in_any_order_and_on_any_machine():
    setup = Setup(seed=7)
    forwards = [setup.seed_for("features", "machine", fold, 10) for fold in range(5)]
    backwards = [setup.seed_for("features", "machine", fold, 10) for fold in reversed(range(5))]
    assert forwards == backwards[::-1]
    # Numbers of every published run depend on this one.
    assert forwards[0] == 473296976
    digest = hashlib.sha256(b'[7, "features", "machine", "0", "10"]').digest()
    assert forwards[0] == int.from_bytes(digest[:4], "big") % 2**31


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        (("a/b",), ("a", "b")),
        (("a", "b"), ("ab",)),
        (("a, b",), ("a", "b")),
        (('a", "b',), ("a", "b")),
        ((), ("",)),
        (("a",), ("a", "")),
        (("1", 23), ("12", 3)),
    ],
)
def test_seeds_know_where_one_label_ends(labels, others):
    assert Setup().seed_for(*labels) != Setup().seed_for(*others)


def test_the_seed_is_no_label():
    assert Setup(seed=1).seed_for("2") != Setup(seed=12).seed_for()
    assert Setup(seed=1).seed_for(0) != Setup(seed=0).seed_for(1)


def test_numbers_of_numpy_seed_as_those_of_python():
    assert Setup(seed=np.int64(7)).seed_for(np.int64(3)) == Setup(seed=7).seed_for(3)
    assert type(Setup(seed=np.int64(7)).seed) is int


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
