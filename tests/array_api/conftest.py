"""Arrays of other libraries: needs SCIPY_ARRAY_API=1 before SciPy is imported, so a run of its own.

``make test`` does both; by hand: ``SCIPY_ARRAY_API=1 python -m pytest tests/array_api``.
"""

import os

import pytest
import sklearn
from places import NAMES, missing, somewhere

if os.environ.get("SCIPY_ARRAY_API") == "1":
    PRESENT = [name for name in NAMES if name != "strict-cpu" and not missing(name)]
else:
    PRESENT, collect_ignore_glob = [], ["test_*.py"]


@pytest.fixture(scope="module", autouse=True)
def dispatch():
    """Arrays stay where they are, unless a test says otherwise."""
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(scope="module", params=PRESENT)
def place(request):
    """A library and a device, of those that are here."""
    return somewhere(request.param)


@pytest.fixture(scope="module")
def torch():
    """The library that most people have."""
    return somewhere("torch")
