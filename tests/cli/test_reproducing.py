"""``negcorr reproduce``: folders, accidents on the way, and what is said of them."""

import dataclasses
import errno
import io
import itertools
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import toy_data
from toy_data import contents

import negcorr as package
from negcorr._common.files import in_use
from negcorr.cli.paper_commands import ReproduceOptions
from negcorr.paper import study as study_module
from negcorr.paper.page import QUICK_NOTICE

REAL = Path(package.__file__).parents[3] / "shared" / "data"


@pytest.fixture
def small(monkeypatch):
    """A quick look is a toy one."""
    monkeypatch.setattr("negcorr.cli.reproducing.QUICK", toy_data.SIZE)


@pytest.fixture
def reproduce(small, negcorr, toy_home, tmp_path):
    """Figure 1 on one set at toy size: five pieces."""

    def run(*arguments, names=("figure1",), sets="machine", out=None, data=toy_home):
        return negcorr(
            *("reproduce", *names, "--data", data, "--sets", sets, "--quick", "--no-times"),
            *("--jobs", 1, "--out", out or tmp_path / "out", *arguments),
        )

    return run


def assert_whole(folder):
    """No file is half written."""
    for path in Path(folder).rglob("*"):
        assert path.suffix != ".part"
        assert not path.name.startswith(".negcorr-")
        if path.suffix == ".json":
            json.loads(path.read_bytes())


# ---------------------------------------------------------------------------------------
# What is written and said
# ---------------------------------------------------------------------------------------


def test_a_run_writes_its_folder_and_says_what_holds(reproduce, tmp_path):
    result = reproduce()
    assert result.code == 0
    found = contents(tmp_path / "out")
    names = [name for name in found if not name.startswith("pieces")]
    assert sorted(names) == [
        "figure1.md",
        "figures/figure1.png",
        "figures/figure1.svg",
        "tables/figure1.csv",
    ]
    assert len(found) == len(names) + 5
    page = found["figure1.md"].decode()
    assert "Made by `negcorr reproduce figure1 --sets machine --quick`" in page
    assert "Figure 1: training and test error" in result.out
    verdicts = [line for line in page.splitlines() if line.startswith(("- ✓", "- ✗"))]
    assert len(verdicts) == 1  # the other is about the paper's numbers
    said = " ".join(result.out.split())
    for line in verdicts:
        assert " ".join(line.removeprefix("- ").replace("*", "").split()) in said
    assert f"The page is {tmp_path / 'out' / 'figure1.md'}." in result.out
    assert " 5/5 " in result.err


@pytest.mark.usefixtures("small")
def test_the_default_folder_is_here(negcorr, toy_home):
    arguments = ["reproduce", "figure1", "--data", toy_home, "--sets", "machine", "--quick"]
    assert negcorr(*arguments, "--jobs", 1).code == 0
    assert Path("reproduction-quick/figure1.md").is_file()
    assert [path.name for path in Path().iterdir()] == ["reproduction-quick"]


@pytest.mark.parametrize(
    ("arguments", "times", "out"),
    [
        ([], True, "reproduction"),
        (["--times"], True, "reproduction"),
        (["--no-times"], False, "reproduction"),
        (["--quick"], False, "reproduction-quick"),
        (["--quick", "--no-times"], False, "reproduction-quick"),
        (["--quick", "--times"], True, "reproduction-quick"),
        (["--quick", "--out", "mine"], False, "mine"),
        (["--out", "mine"], True, "mine"),
    ],
    ids=str,
)
def test_a_quick_look_is_not_timed_and_has_a_folder_of_its_own(
    negcorr, monkeypatch, arguments, times, out
):
    requests = []
    monkeypatch.setattr("negcorr.cli.reproducing.run_reproduce", requests.append)
    assert negcorr("reproduce", "all", *arguments).code == 0
    (request,) = requests
    assert (request.timed, request.folder) == (times, Path(out))
    assert request.quick == ("--quick" in arguments)


def test_a_quick_look_is_timed_where_that_is_asked_for(reproduce, tmp_path):
    assert reproduce("--times", names=("table1",)).code == 0
    found = contents(tmp_path / "out")
    assert "tables/table1_seconds.csv" in found
    page = found["table1.md"].decode()
    assert "Made by `negcorr reproduce table1 --sets machine --quick --times`" in page
    assert reproduce(names=("table1",), out=tmp_path / "other").code == 0
    assert "tables/table1_seconds.csv" not in contents(tmp_path / "other")


def test_a_quick_look_says_so_beside_the_results(reproduce):
    result = reproduce()
    said = " ".join(result.err.split())
    assert QUICK_NOTICE.replace("*", "") in said
    assert "quick look" not in result.out


def test_a_full_run_is_no_quick_look(negcorr, toy_home, tmp_path, monkeypatch):
    monkeypatch.setattr("negcorr.cli.reproducing.FULL", toy_data.SIZE)
    arguments = ["reproduce", "figure1", "--data", toy_home, "--sets", "machine", "--jobs", 1]
    result = negcorr(*arguments, "--no-times", "--out", tmp_path / "out")
    assert result.code == 0
    assert "quick look" not in result.err + result.out
    page = (tmp_path / "out" / "figure1.md").read_text(encoding="utf-8")
    assert "Made by `negcorr reproduce figure1 --sets machine --no-times`" in page


def test_a_folder_with_brackets_is_named_as_it_is(reproduce, tmp_path):
    result = reproduce(out=tmp_path / "[bold]" / "out")
    assert f"The page is {tmp_path}/[bold]/out/figure1.md." in result.out


def test_the_same_command_again_goes_on_from_stored_pieces(reproduce, tmp_path, monkeypatch):
    reproduce()
    before = contents(tmp_path / "out")

    def computed(*arguments):
        raise AssertionError("a stored piece was computed again")

    monkeypatch.setattr(study_module, "_computed", computed)
    assert reproduce().code == 0
    assert contents(tmp_path / "out") == before


def test_another_experiment_uses_what_is_stored(reproduce, tmp_path):
    reproduce()
    pieces = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "pieces").rglob("*.json")
    }
    assert reproduce(names=("figure4",)).code == 0
    assert {path: path.stat().st_mtime_ns for path in pieces} == pieces
    assert len(list((tmp_path / "out" / "pieces").rglob("*.json"))) == 15


def test_a_damaged_piece_is_mended(reproduce, tmp_path):
    reproduce()
    before = contents(tmp_path / "out")
    path = next((tmp_path / "out" / "pieces").rglob("*.json"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(UserWarning, match="is not a stored piece"):
        result = reproduce()
    assert result.code == 0
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize(
    "arguments", [["--seed", 5], ["--protocol", "printed"], ["--shuffle"]], ids=str
)
def test_options_change_the_numbers_and_stand_on_the_page(reproduce, tmp_path, arguments):
    reproduce()
    reproduce(*arguments, out=tmp_path / "other")
    ours, theirs = (contents(tmp_path / name) for name in ("out", "other"))
    assert ours["tables/figure1.csv"] != theirs["tables/figure1.csv"]
    page = theirs["figure1.md"].decode().split("Made by `", 1)[1].split("`")[0]
    assert " ".join(map(str, arguments)) in page


def test_sets_may_have_spaces_around_them(reproduce, tmp_path):
    result = reproduce(names=("table1",), sets=" slump , machine")
    assert result.code == 0
    rows = (tmp_path / "out" / "tables" / "table1.csv").read_text(encoding="utf-8").splitlines()
    assert {row.split(",")[0] for row in rows[1:]} == {"machine", "slump"}


def test_sets_may_be_named_in_any_case(reproduce, tmp_path):
    assert reproduce(sets="Machine").code == 0
    assert reproduce(sets="machine", out=tmp_path / "other").code == 0
    ours, theirs = (contents(tmp_path / name) for name in ("out", "other"))
    assert ours.pop("figure1.md") != theirs.pop("figure1.md")  # the command stands as it was given
    assert ours == theirs


@pytest.mark.usefixtures("small")
def test_simulated_experiments_need_no_data(negcorr, tmp_path):
    arguments = ["reproduce", "bias-variance-covariance", "--quick", "--jobs", 1]
    assert negcorr(*arguments, "--out", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "figures" / "bias-variance-covariance.svg").is_file()


def test_the_command_of_a_request_asks_for_the_same_numbers():
    request = ReproduceOptions(
        names=["figure1", "table1"],
        data=Path("data"),
        sets="slump,my set",
        out=Path("out"),
        protocol="paper",
        shuffle=False,
        jobs=3,
        seed=0,
        quick=False,
        times=True,
        download=True,
        device="auto",
        tables=None,
    )
    assert request.command == "negcorr reproduce figure1 table1 --sets 'slump,my set'"
    other = dataclasses.replace(
        request, sets=None, protocol="printed", shuffle=True, seed=4, quick=True, times=False
    )
    assert other.command == (
        "negcorr reproduce figure1 table1 --protocol printed --seed 4 --shuffle --quick"
    )
    deep = dataclasses.replace(
        request, names=["figure7"], sets=None, device="cuda", tables=Path("my tables")
    )
    assert deep.command == "negcorr reproduce figure7 --device cuda --tables 'my tables'"


@pytest.mark.parametrize(
    ("quick", "times", "flags"),
    [
        (False, True, ""),
        (False, False, " --no-times"),
        (True, False, " --quick"),
        (True, True, " --quick --times"),
    ],
)
def test_the_command_names_times_only_where_they_are_not_the_default(quick, times, flags):
    settings = {"protocol": "paper", "shuffle": False, "jobs": None, "seed": 0, "download": False}
    settings |= {"device": "auto", "tables": None}
    request = ReproduceOptions(
        names=["all"], data=None, sets=None, out=Path(), quick=quick, times=times, **settings
    )
    assert request.command == f"negcorr reproduce all{flags}"


@pytest.mark.skipif(not REAL.is_dir(), reason="no folder shared/data beside the project")
def test_real_data_run_in_a_process_of_its_own(shell, tmp_path):
    result = shell(
        *("reproduce", "table1", "--quick", "--no-times", "--sets", "slump", "--data", REAL),
        *("--jobs", 1, "--out", tmp_path / "out"),
    )
    assert result.code == 0
    assert "Table 1" in result.out
    assert "Traceback" not in result.err
    assert_whole(tmp_path / "out")


def test_a_terminal_without_unicode_is_no_failure(reproduce, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert reproduce().code == 0


# ---------------------------------------------------------------------------------------
# Deep networks
# ---------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path):
    """Hand-made tables of two experiments."""
    folder = tmp_path / "my tables"
    folder.mkdir()
    for name, column in (("figure7", "dof"), ("dof-per-epoch", "dof"), ("figure8", "train_error")):
        table = toy_data.deep_rows(
            ["machine"], **{column: lambda name, depth, fold, epoch, lam: 0.1 + epoch * lam + fold}
        )
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def without_torch(monkeypatch):
    for module in ("negcorr.cli.reproducing", "negcorr.paper.catalogue"):
        monkeypatch.setattr(
            f"{module}.find_spec", lambda name: None if name == "torch" else find_spec(name)
        )


@pytest.mark.usefixtures("tiny_deep")
def test_figure_7_brings_degrees_of_freedom_per_epoch_along(reproduce, tmp_path):
    result = reproduce(names=("figure7",))
    assert result.code == 0
    found = contents(tmp_path / "out")
    assert sorted(name for name in found if not name.startswith("pieces")) == [
        "figure7-dof-per-epoch.md",
        "figures/dof-per-epoch.png",
        "figures/dof-per-epoch.svg",
        "figures/figure7.png",
        "figures/figure7.svg",
        "tables/dof-per-epoch.csv",
        "tables/figure7.csv",
    ]
    assert sum(name.startswith("pieces/deep_training/machine-") for name in found) == 10
    assert " 10/10 " in result.err
    page = found["figure7-dof-per-epoch.md"].decode()
    assert "Made by `negcorr reproduce figure7 --sets machine --quick`" in page
    assert "Trained on a CPU (torch " in page


@pytest.mark.usefixtures("tiny_deep")
def test_the_device_makes_no_other_numbers_where_it_is_the_same(reproduce, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for device in ("auto", "cpu"):
        assert reproduce("--device", device, names=("figure8",), out=tmp_path / device).code == 0
    ours, theirs = (contents(tmp_path / device) for device in ("auto", "cpu"))
    page = "figure8-held-out-error.md"
    assert b" --device cpu" in theirs.pop(page)
    assert b"--device" not in ours.pop(page)
    assert ours == theirs


def test_the_devices_name_reaches_the_study(small, negcorr, toy_home, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    studies = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)

    def plan(study, names, times):
        studies.append(study)
        raise ValueError("enough")

    monkeypatch.setattr("negcorr.paper.reproduce.plan", plan)
    for name, device in itertools.product(
        ("figure7", "figure1", "all"), ("auto", "cpu", "cuda", "cuda:1")
    ):
        arguments = ["--quick", "--data", toy_home, "--sets", "machine"]
        result = negcorr("reproduce", name, *arguments, "--device", device)
        assert (result.code, result.complaint()) == (2, "negcorr: enough")
    found = ["cuda", "cpu", "cuda", "cuda:1"]
    assert [study.device for study in studies] == [*found, *["cpu"] * 4, *found]


@pytest.mark.parametrize("name", ["figure7", "held-out-error", "all"])
@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("cuda", "device='cuda', but torch sees no CUDA device here; allowed are 'cpu' and 'auto'"),
        ("cuda:1", "device='cuda:1', but torch sees no CUDA device here"),
        ("cuda:x", "device='cuda:x' is unknown; allowed are 'cpu', 'cuda' and 'auto'"),
    ],
)
def test_a_gpu_that_is_not_there_is_told_in_one_line(
    reproduce, tmp_path, monkeypatch, name, device, words
):
    pytest.importorskip("torch")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = reproduce("--device", device, names=(name,))
    assert (result.code, result.out) == (2, "")
    assert words in result.complaint()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
@pytest.mark.parametrize("name", ["figure7", "figure8", "dof-per-epoch", "held-out-error"])
def test_without_torch_it_is_told_what_to_install(reproduce, tmp_path, monkeypatch, name, device):
    without_torch(monkeypatch)
    result = reproduce("--device", device, names=("figure1", name))
    assert (result.code, result.out) == (1, "")
    assert result.complaint() == (
        "negcorr: deep networks need torch, not installed: pip install 'negcorr[deep]'"
    )
    assert not (tmp_path / "out").exists()


def test_without_torch_only_a_gpu_is_too_much_to_ask_of_all(reproduce, tmp_path, monkeypatch):
    without_torch(monkeypatch)
    result = reproduce("--device", "cuda", names=("all",))
    assert (result.code, result.out) == (1, "")
    assert "pip install 'negcorr[deep]'" in result.complaint()
    monkeypatch.setattr("negcorr.paper.reproduce.reproduce", lambda *_, **__: tmp_path / "p")
    (tmp_path / "p").write_text("### Title", encoding="utf-8")
    for device in ("auto", "cpu"):
        assert reproduce("--device", device, names=("all",)).code == 0


WITHOUT = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *where: None if name == "torch" else find(name, *where)
from negcorr.cli import main
main()
"""


def test_tables_are_drawn_without_torch_and_without_data(shell, tables, tmp_path):
    arguments = ["reproduce", "figure7", "figure8", "--tables", tables, "--device", "cuda"]
    result = shell(*arguments, "--out", tmp_path / "out", "--jobs", 1, code=WITHOUT)
    assert result.code == 0, result.err
    assert result.out.count("✓") + result.out.count("✗") == 5
    assert "Trained on an abacus (torch 0)." in (
        tmp_path / "out" / "figure7-figure8-dof-per-epoch.md"
    ).read_text(encoding="utf-8")
    found = contents(tmp_path / "out")
    # What comes along is drawn where it is given, and not computed where it is not.
    assert sorted(name for name in found if name.startswith("tables/")) == [
        "tables/dof-per-epoch.csv",
        "tables/figure7.csv",
        "tables/figure8.csv",
    ]
    for path in tables.iterdir():
        assert found[f"tables/{path.name}"] == path.read_bytes()


def test_tables_stand_on_the_page_as_part_of_the_command(reproduce, tables, tmp_path):
    result = reproduce("--tables", tables, names=("figure7",))
    assert result.code == 0
    page = (tmp_path / "out" / "figure7-dof-per-epoch.md").read_text(encoding="utf-8")
    assert f" --sets machine --tables '{tables}' --quick`" in page
    assert not (tmp_path / "out" / "pieces").exists()


@pytest.mark.parametrize("kind", ["nowhere", "file"])
def test_tables_that_are_no_folder_are_named(reproduce, tmp_path, kind):
    (tmp_path / "file").touch()
    result = reproduce("--tables", tmp_path / kind, names=("figure7",))
    assert (result.code, result.out) == (2, "")
    said = " ".join(result.err.replace("│", " ").split())
    assert "Invalid value for '--tables'" in said
    assert {"nowhere": "does not exist", "file": "is a file"}[kind] in said
    assert not (tmp_path / "out").exists()


def test_a_table_that_cannot_be_read_is_told_in_one_line(reproduce, tables, tmp_path, monkeypatch):
    def computed(*arguments):
        raise AssertionError("work was begun")

    monkeypatch.setattr(study_module, "_computed", computed)
    (tables / "figure7.csv").write_bytes(b"")
    result = reproduce("--tables", tables, names=("figure1", "figure7"))
    assert result.code == 1
    (complaint,) = [line for line in result.err.splitlines() if "negcorr:" in line]
    assert str(tables / "figure7.csv") in complaint
    assert "Traceback" not in result.err
    assert contents(tmp_path / "out") == {}


# ---------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nowhere", "file"])
def test_data_that_are_no_folder_are_named(reproduce, tmp_path, kind):
    (tmp_path / "file").touch()
    result = reproduce(data=tmp_path / kind)
    assert (result.code, result.out) == (2, "")
    said = " ".join(result.err.replace("│", " ").split())
    assert "Invalid value for '--data'" in said
    assert {"nowhere": "does not exist", "file": "is a file"}[kind] in said
    assert not (tmp_path / "out").exists()


def test_a_variable_that_names_no_folder_is_named(negcorr, tmp_path, monkeypatch):
    monkeypatch.setenv("NEGCORR_DATA", str(tmp_path / "nowhere"))
    result = negcorr("reproduce", "table1", "--quick", "--out", tmp_path / "out")
    assert result.code == 1
    assert "must be a folder that exists" in result.complaint()
    assert not (tmp_path / "out").exists()


def test_half_a_folder_of_data_names_what_is_not_there(negcorr, toy_home, tmp_path):
    out = tmp_path / "out"
    result = negcorr("reproduce", "table1", "--data", toy_home, "--quick", "--out", out)
    assert result.code == 1
    for name in toy_data.ABSENT:
        assert (f"'{name}'" in result.complaint()) == (name != "scm1d")
    for name in toy_data.SETS:
        assert f"'{name}'" not in result.complaint()
    assert "--sets" in result.complaint()
    assert not out.exists()


def test_sets_that_were_asked_for_and_are_not_there_are_named(reproduce, tmp_path):
    result = reproduce(sets="machine,scm1d,jura", names=("table1",))
    assert result.code == 1
    assert "['scm1d', 'jura'] are not at hand" in result.complaint()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00", "begins with the mark of UTF-16 but is not"),
        (b"MYCT,MMIN\n1,2\n", "lacks the column"),
        (b"a,b,c,d,e,f,PRP\n1,2,3,4,5,6\n", "line 2"),
        (b"a,b,c,d,e,f,PRP\n" + b"1,2,3,4,5,6,x\n" * 209, "column 'PRP', row 1"),
        (b"a,b,c,d,e,f,PRP\n1,2,3,4,5,6,7\n", "has 1 rows"),
    ],
)
def test_a_corrupt_file_is_named_in_one_line(reproduce, tmp_path, content, words):
    home = tmp_path / "home"
    home.mkdir()
    (home / "machine.csv").write_bytes(content)
    result = reproduce(data=home)
    assert result.code == 1
    assert "machine.csv" in result.complaint()
    assert words in result.complaint()
    assert not (tmp_path / "out").exists()


def test_a_compressed_file_cut_short_is_named_in_one_line(reproduce, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "machine.csv.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    result = reproduce(data=home)
    assert result.code == 1
    assert "machine.csv.gz is not the published copy of machine" in result.complaint()


# ---------------------------------------------------------------------------------------
# Folders that cannot be written
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["", "below", "far/below"])
def test_a_folder_that_cannot_be_written_is_named_before_the_work(
    reproduce, tmp_path, monkeypatch, below
):
    def computed(*arguments):
        raise AssertionError("work was begun")

    monkeypatch.setattr(study_module, "_computed", computed)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    result = reproduce(out=tmp_path / "file" / below)
    assert result.code == 1
    assert "cannot write there" in result.complaint()
    assert str(tmp_path / "file") in result.complaint()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_folder_in_use_is_refused_by_its_name(reproduce, tmp_path):
    with in_use(tmp_path / "out"):
        result = reproduce()
    assert result.code == 1
    assert f"{tmp_path / 'out'} is in use by another run" in result.complaint()


def full_after(monkeypatch, writes):
    """A disk that takes so many files."""
    count, fsync = [0], os.fsync

    def full(handle):
        count[0] += 1
        if count[0] > writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("writes", [0, 1, 3, 6, 8])
def test_a_full_disk_is_told_in_one_line_and_leaves_whole_files(
    reproduce, tmp_path, monkeypatch, writes
):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        full_after(patch, writes)
        result = reproduce()
    assert result.code == 1
    complaints = [line for line in result.err.splitlines() if "negcorr:" in line]
    assert len(complaints) == 1
    assert "No space left on device" in complaints[0]
    assert "Traceback" not in result.err
    assert_whole(out)
    assert len(contents(out)) == writes
    assert reproduce().code == 0
    assert len(contents(out)) == 9
