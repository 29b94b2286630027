"""Arrays of other libraries: needs SCIPY_ARRAY_API=1 before SciPy is imported, so a run of its own.

``make test`` does both; by hand: ``SCIPY_ARRAY_API=1 python -m pytest tests/array_api``.
"""

import os

if os.environ.get("SCIPY_ARRAY_API") != "1":
    collect_ignore_glob = ["test_*.py"]
