"""The first kills of the campaign."""

import os

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.mark.parametrize("number", range(3))
def test_case(number, tmp_path):
    from hostile import kills

    assert kills.run(number, tmp_path).faults == ()
