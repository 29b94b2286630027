"""The first random problems of the campaign."""

import pytest
from hostile import problems


@pytest.mark.parametrize("number", range(40))
def test_case(number, tmp_path):
    assert problems.run(number, tmp_path).faults == ()
