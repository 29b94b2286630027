"""Names on the pages are names of the library, and the reference has every public one."""

import re
from importlib import import_module

import pytest
from benchmark_programs import ROOT

import negcorr

PUBLIC_MODULES = (
    *("bases", "datasets", "deep", "diversity", "dof", "exceptions", "optimism", "reading"),
    *("scale", "storage", "tables"),
)
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.rst", "docs/*.md", "docs/guide/*.rst", "examples/*.py")
    for path in ROOT.glob(pattern)
)


def found(name):
    """The object of a dotted name; AttributeError or ImportError where there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if not error.name.startswith("negcorr"):
                pytest.skip(f"{error.name} is not installed")
            continue
        for part in parts[length:]:
            value = getattr(value, part)
        return value
    raise ImportError(name)


def reference():
    text = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_dotted_names_on_a_page_are_names_of_the_library(page):
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\bnegcorr(?:\.[A-Za-z_]\w*)+", text))):
        if name.rpartition(".")[2] not in ("json", "css"):  # names of files
            found(name)


def test_the_reference_lists_what_there_is_and_nothing_public_is_left_out():
    pytest.importorskip("torch")
    listed = reference()
    for name in listed:
        found(f"negcorr.{name}")
    assert set(negcorr.__all__) <= set(listed)
    for module in PUBLIC_MODULES:
        names = found(f"negcorr.{module}").__all__
        public = {name for name in names if name[0].isupper() and not name.isupper()}
        shown = {name.rpartition(".")[2] for name in listed}
        assert public <= shown, module
