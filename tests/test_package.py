"""The shape of the package: data flow one way, imports are light, public names explain."""

import ast
import dataclasses
import inspect
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import negcorr
import negcorr.bases

ROOT = Path(negcorr.__file__).parent


def module_name(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


MODULES = {module_name(file): file for file in sorted(ROOT.rglob("*.py"))}


HEAVY = {"torch", "matplotlib", "pandas", "polars", "dask", "skops", "onnx", "onnxruntime"}


def test_importing_the_package_loads_no_heavy_library():
    # Some versions of scikit-learn load pandas themselves where it is installed.
    code = (
        "import sys, sklearn; before = set(sys.modules); from negcorr import *; "
        f"print(sorted({HEAVY} & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_package_alone_and_its_help_load_no_numerical_library():
    code = (
        "import sys, negcorr; from negcorr.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "[]"
    assert "reproduce" in run.stdout


def test_public_names_come_from_where_they_are_said_to_live():
    assert list(negcorr._MODULE_OF) == negcorr.__all__
    assert set(negcorr.__all__) | set(negcorr._MODULES) <= set(dir(negcorr))
    for name in negcorr._MODULES:
        assert getattr(negcorr, name).__name__ == f"negcorr.{name}"
    with pytest.raises(AttributeError, match="has no attribute 'NCLRegresor'"):
        negcorr.NCLRegresor  # noqa: B018
    with pytest.raises(ImportError, match="NCLRegresor"):
        exec("from negcorr import NCLRegresor")


@pytest.mark.parametrize("name", MODULES)
def test_module_names_no_heavy_library_at_its_top(name):
    top = ast.parse(MODULES[name].read_text(encoding="utf-8")).body
    named = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module or "" for node in top if isinstance(node, ast.ImportFrom)}
    # The one experiment that computes with torch is itself loaded when its pieces are asked for.
    trains = name.partition(".")[0] == "deep" or name == "paper.deep_training"
    own = {"torch"} if trains else set()
    assert not (HEAVY - own) & {path.split(".")[0] for path in named}


@pytest.mark.parametrize("name", MODULES)
def test_module_says_what_it_is_for(name):
    assert ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8")))


PUBLIC = [
    pytest.param(getattr(package, name), id=f"{package.__name__}.{name}")
    for package in (negcorr, negcorr.bases)
    for name in package.__all__
]


def is_result(thing):
    """Frozen dataclasses are handed to users, not made by them."""
    return dataclasses.is_dataclass(thing) and thing.__dataclass_params__.frozen


def is_abstract(thing):
    return inspect.isclass(thing) and any(
        getattr(getattr(thing, name, None), "__isabstractmethod__", False) for name in dir(thing)
    )


@pytest.mark.parametrize("thing", PUBLIC)
def test_public_name_has_a_docstring(thing):
    assert inspect.getdoc(thing)
    assert thing.__doc__, "the docstring is inherited, not its own"


@pytest.mark.parametrize(
    "thing", [p for p in PUBLIC if not is_result(p.values[0]) and not is_abstract(p.values[0])]
)
def test_public_name_shows_an_example(thing):
    text = inspect.getdoc(thing)
    assert "\nExamples\n--------\n" in text, "no Examples section, or its heading is indented"
    assert ">>> " in text.split("\nExamples\n--------\n")[1]


@pytest.mark.parametrize(
    ("thing", "method"),
    [
        pytest.param(kind, name, id=f"{kind.__name__}.{name}")
        for kind in dict.fromkeys(p.values[0] for p in PUBLIC if inspect.isclass(p.values[0]))
        for name, member in vars(kind).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    ],
)
def test_public_method_has_a_docstring(thing, method):
    assert inspect.getdoc(getattr(thing, method))


@pytest.mark.parametrize("package", [negcorr, negcorr.bases], ids=lambda p: p.__name__)
def test_public_names_are_sorted_and_exist(package):
    assert all(hasattr(package, name) for name in package.__all__)
    assert all(a < b for a, b in itertools.pairwise(package.__all__))
