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

#: A module imports only from lines above its own.
ORDER = [
    "exceptions",
    "_typing",
    "colours",
    "_arrays",
    "_threads",
    "_lapack",
    "_svd",
    "_validation",
    "gaps",
    "diversity",
    "rowhash",
    "bases._base",
    "bases.cosine",
    "bases.kernels",
    "bases.subspaces",
    "bases.fourier",
    "bases.nystroem",
    "bases.kernel",
    "bases.trees",
    "bases.linear",
    "bases.transformers",
    "bases.inputs",
    "bases.mapped",
    "bases.nested",
    "bases",
    "moments",
    "subtraction",
    "rows",
    "device_scan",
    "scan",
    "extension",
    "whitening",
    "nesting",
    "modes",
    "spectrum",
    "banded",
    "factorise",
    "noise",
    "folds",
    "search",
    "kfold",
    "loo",
    "criteria",
    "tikhonov",
    "tabulated",
    "path",
    "curve_view",
    "sketch",
    "settings",
    "tuning",
    "intervals",
    "bending",
    "bent_path",
    "summary",
    "named_basis",
    "validated_rows",
    "screening",
    "relevance",
    "candidates",
    "questions",
    "proving",
    "judging",
    "racing",
    "choosing",
    "growing",
    "automatic",
    "streaming",
    "fitted",
    "stream_fitting",
    "regressor",
    "members",
    "progress",
    "scale.memory",
    "scale.chunks",
    "scale.ahead",
    "scale.batches",
    "scale.file_sizes",
    "scale.files",
    "scale.sources",
    "scale.first_pass",
    "scale.costs",
    "scale.planning",
    "scale.watching",
    "scale.clusters",
    "scale.fitting",
    "scale",
    "tabular.cells",
    "tabular.dates",
    "tabular.content",
    "tabular.decoding",
    "tabular.delimited",
    "tabular.typed",
    "tabular.arff",
    "tabular.reading",
    "tabular.schema",
    "tabular.roles",
    "tabular.columns",
    "tabular.typed_columns",
    "tabular.date_parts",
    "tabular.tamed",
    "tabular.pipeline",
    "tabular.samples",
    "tabular.splitting",
    "tabular.figures",
    "tabular.baselines",
    "tabular.wording",
    "tabular.fingerprint",
    "tabular.scoring",
    "tabular.trial",
    "tabular.layers",
    "tabular.text_bytes",
    "tabular.text_layout",
    "tabular.text_tables",
    "tabular.cell_kinds",
    "tabular.chunk_sources",
    "tabular.large_files",
    "tabular.smallest",
    "tabular.large_samples",
    "tabular.large_passes",
    "tabular.large_trial",
    "tabular",
    "seeds",
    "smoother_kinds",
    "smoother_kernels",
    "smoothers",
    "monte_carlo.refits",
    "monte_carlo.responses",
    "monte_carlo.step",
    "monte_carlo.result",
    "monte_carlo.spread",
    "monte_carlo.probing",
    "monte_carlo.deflation",
    "monte_carlo.precision",
    "monte_carlo.estimate",
    "monte_carlo",
    "degrees",
    "scores",
    "sure_points",
    "sure_search",
    "new_inputs",
    "random_x",
    "optimism",
    "display.drawing",
    "display.sources",
    "display.slices",
    "display.path",
    "display.diversity",
    "display.members",
    "display.dof",
    "display",
    "datasets.errors",
    "datasets.registry",
    "datasets.columns",
    "datasets.homes",
    "datasets.openml",
    "datasets.dataset",
    "datasets.loading",
    "datasets",
    "_files",
    "deep.loss",
    "deep.networks",
    "deep.init",
    "deep.architecture",
    "deep.devices",
    "deep.optimise",
    "deep.graphs",
    "deep.training",
    "deep.rates",
    "deep.alike",
    "deep.stacking",
    "deep.twins",
    "deep.tangents",
    "deep.heads",
    "deep.collusion",
    "deep.checkpoint",
    "deep.grid",
    "deep.history",
    "deep.sure",
    "deep.settings",
    "deep.scaling",
    "deep.deep_fit",
    "deep.parts",
    "deep.resuming",
    "deep.fitting",
    "deep.continuing",
    "deep.persistence",
    "deep.fitted",
    "deep.regressor",
    "deep",
    "trusted",
    "stand_ins",
    "portable",
    "model_files",
    "persistence",
    "onnx_machines",
    "onnx_steps",
    "onnx_parts",
    "onnx_ensemble",
    "onnx_export",
    "reporting.curves",
    "reporting.lam_grid",
    "reporting.rows",
    "reporting.contents",
    "reporting.page",
    "reporting.writing",
    "reporting",
    "experiments.setup",
    "experiments.pieces",
    "experiments.protocol",
    "experiments.study",
    "experiments.claims",
    "experiments",
    "experiments.drawing",
    "experiments.curves",
    "experiments.figure1",
    "experiments.figure2",
    "experiments.figure3",
    "experiments.figure4",
    "experiments.figure5",
    "experiments.figure6",
    "experiments.selection",
    "experiments.timing",
    "experiments.table1",
    "experiments.differences",
    "experiments.diversity_dof",
    "experiments.optimal_gap",
    "experiments.bias_variance_covariance",
    "experiments.split",
    "experiments.deep_training",
    "experiments.deep_study",
    "experiments.figure7",
    "experiments.figure8",
    "experiments.dof_per_epoch",
    "experiments.held_out_error",
    "experiments.catalogue",
    "experiments.page",
    "experiments.reproduce",
    "demo",
    "__init__",
    "cli.codes",
    "cli.names",
    "cli.screen",
    "cli.listing",
    "cli.reproducing",
    "cli.fit_options",
    "cli.metrics",
    "cli.artefacts",
    "cli.fit_words",
    "cli.memory_use",
    "cli.stored",
    "cli.strangers",
    "cli.fitting",
    "cli.table_writing",
    "cli.predicting",
    "cli.evaluating",
    "cli.freedom",
    "cli.demonstration",
    "cli.app",
    "cli.data_commands",
    "cli.paper_commands",
    "cli.main",
    "cli",
    "__main__",
]

MOST_LINES = 400


def module_name(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


MODULES = {module_name(file): file for file in sorted(ROOT.rglob("*.py"))}


def imported_modules(name):
    """Modules of the package that one of them imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            full = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} uses a relative import; name the module in full."
            full = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for path in full:
            first, *rest = path.split(".")
            if first == "negcorr":
                found.add(longest_module(rest))
    return found


def longest_module(parts):
    for stop in range(len(parts), 0, -1):
        if ".".join(parts[:stop]) in MODULES:
            return ".".join(parts[:stop])
    return "__init__"


@pytest.mark.parametrize("name", MODULES)
def test_module_imports_only_from_modules_above_it(name):
    assert name in ORDER, (
        f"negcorr.{name} has no place in the flow of data: put it into ORDER in this file, "
        "below everything it imports and above everything that imports it."
    )
    above = ORDER[: ORDER.index(name)]
    backwards = sorted(imported_modules(name) - set(above))
    assert not backwards, f"negcorr.{name} imports from modules not above it: {backwards}"


def test_order_names_every_module_once_and_no_module_that_is_gone():
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= set(MODULES)


def test_imports_are_found_in_every_way_of_writing_them(monkeypatch, tmp_path):
    file = tmp_path / "probe.py"
    file.write_text(
        "import negcorr.gaps\nfrom negcorr import criteria\n"
        "def f():\n    from negcorr.bases.cosine import cos_turns\n"
        "from negcorr import NCLPath\nimport numpy\n",
        encoding="utf-8",
    )
    monkeypatch.setitem(MODULES, "probe", file)
    assert imported_modules("probe") == {"gaps", "criteria", "bases.cosine", "__init__"}


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
    assert list(negcorr._HOMES) == negcorr.__all__
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
    trains = name.partition(".")[0] == "deep" or name == "experiments.deep_training"
    own = {"torch"} if trains else set()
    assert not (HEAVY - own) & {path.split(".")[0] for path in named}


@pytest.mark.parametrize("name", MODULES)
def test_module_is_short(name):
    lines = len(MODULES[name].read_text(encoding="utf-8").splitlines())
    assert lines < MOST_LINES, f"negcorr.{name} has {lines} lines; split it below {MOST_LINES}."


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
