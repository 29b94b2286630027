"""The first crafted files of models."""

import pytest
from hostile import model_files


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(40))
def test_case(number, tmp_path):
    assert model_files.run(number, tmp_path).faults == ()
