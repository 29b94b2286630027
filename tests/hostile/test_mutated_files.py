"""The first damaged files of the campaign; large contents are in tests/reading/test_limits.py."""

import pytest
from hostile import mutated_files


@pytest.mark.parametrize("number", [k for k in range(120) if k % 50 != 7 and k % 10 != 3])
def test_case(number, tmp_path):
    assert mutated_files.run(number, tmp_path).faults == ()


@pytest.mark.parametrize("number", [3, 13])
def test_case_by_command(number, tmp_path):
    assert mutated_files.run(number, tmp_path).faults == ()
