"""The benchmarks and the scripts that write their pages: programs, and no package."""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]

FOLDERS = ("benchmarks", "benchmarks/accuracy", "benchmarks/scale", "docs/benchmark_pages")

sys.path += [str(ROOT / folder) for folder in FOLDERS]


def program(name):
    """A program as a module; programs import each other by these names, too."""
    return import_module(name)
