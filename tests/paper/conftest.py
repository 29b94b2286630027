"""A home of toy data for all tests of experiments."""

import pytest
import toy_data


@pytest.fixture(scope="session")
def toy_home(tmp_path_factory):
    return toy_data.write_home(tmp_path_factory.mktemp("toy") / "home")


@pytest.fixture
def no_other_homes(monkeypatch, tmp_path):
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def tiny_deep():
    """Deep networks of toy size in quick runs of this process."""
    pytest.importorskip("torch")
    with toy_data.tiny_deep() as training:
        yield training
