"""Help, version, and commands that are not understood."""

import importlib.metadata
import sys

import pytest

import negcorr as package
from negcorr.cli import main
from negcorr.paper.catalogue import EXPERIMENTS


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_the_commands(negcorr, flag):
    result = negcorr(flag)
    assert result.code == 0
    assert "datasets" in result.out
    assert "reproduce" in result.out
    assert result.err == ""


@pytest.mark.parametrize("command", ["datasets", "reproduce"])
def test_every_command_has_help_with_examples(negcorr, command):
    result = negcorr(command, "--help")
    assert result.code == 0
    assert f"negcorr {command}" in result.out
    assert "Examples" in result.out


def test_help_names_every_experiment_and_option(negcorr):
    words = " ".join(negcorr("reproduce", "-h").out.replace("│", " ").split())
    for name in [*EXPERIMENTS, "all"]:
        assert name in words
    for option in (
        "--data",
        "--sets",
        "--out",
        "--protocol",
        "--shuffle",
        "--jobs",
        "--seed",
        "--quick",
        "--times",
        "--no-times",
        "--download",
        "--device",
        "--tables",
    ):
        assert option in words


def test_no_arguments_show_help(negcorr):
    result = negcorr()
    assert "Usage" in result.out + result.err
    assert "reproduce" in result.out + result.err
    assert result.code in (0, 2)


def test_version_is_the_packages(negcorr):
    result = negcorr("--version")
    assert (result.code, result.out) == (0, f"negcorr {package.__version__}\n")


def test_the_module_and_the_entry_point_are_the_command(shell):
    result = shell("--version")
    assert (result.code, result.out) == (0, f"negcorr {package.__version__}\n")
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="negcorr")
    assert entry.load() is main


def test_arguments_are_taken_from_the_shell(negcorr, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["negcorr", "--version"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert package.__version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["datasts"], "datasets"),
        (["reproduce", "figure1", "--quikc"], "--quick"),
        (["reproduce"], "NAME"),
        (["reproduce", "figure1", "--seed", "many"], "--seed"),
        (["datasets", "--data"], "--data"),
    ],
)
def test_what_is_not_understood_is_named(negcorr, arguments, words):
    result = negcorr(*arguments)
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["figur3"], "experiment 'figur3' is unknown. Did you mean 'figure3'?"),
        (["figure2"], "experiment 'figure2': a diagram; 'all' draws it."),
        (["all", "figure6"], "experiment 'figure6': a diagram; 'all' draws it."),
        (["figure9"], "experiment 'figure9' is unknown."),
        (["figure7", "--device", "gpu"], "--device gpu: allowed are cpu, cuda and auto."),
        (["figure1", "--device", "CUDA"], "--device CUDA: allowed are cpu, cuda and auto."),
        (["table1", "--sets", "slmup"], "did you mean 'slump'?"),
        (["table1", "--sets", ","], "--sets ',': name at least one data set."),
        (["table1", "--sets", ""], "--sets '': name at least one data set."),
        (["table1", "--sets", " , "], "--sets ' , ': name at least one data set."),
        (["figure3", "--sets", "machine"], "none of the sets that this needs: ['kinematics']"),
        (["table1", "--protocol", "Printed"], "protocol='Printed' is unknown"),
        (["table1", "--jobs", "0"], "--jobs 0"),
        (["table1", "--jobs", "-2"], "--jobs -2"),
        (["table1", "--seed", "-1"], "seed=-1 must be at least 0"),
    ],
)
def test_requests_that_cannot_be_carried_out_are_met_with_one_line(
    negcorr, toy_home, tmp_path, arguments, words
):
    out = tmp_path / "out"
    result = negcorr("reproduce", *arguments, "--data", toy_home, "--out", out, "--quick")
    assert result.code == 2
    assert words in result.complaint()
    assert result.complaint().startswith("negcorr: ")
    assert result.out == ""
    assert not out.exists()


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_a_command_line_without_its_libraries_says_what_to_install(shell, module):
    code = f"import sys; sys.modules[{module!r}] = None; from negcorr.cli import main; main()"
    result = shell("datasets", code=code)
    assert result.code == 1
    assert f"needs {module}" in result.complaint()
    assert "pip install 'negcorr[cli,plot]'" in result.complaint()


@pytest.mark.parametrize("module", ["matplotlib", "pandas"])
def test_figures_without_their_libraries_say_what_to_install(
    negcorr, toy_home, tmp_path, monkeypatch, module
):
    monkeypatch.setitem(sys.modules, module, None)
    arguments = ["reproduce", "figure1", "--data", toy_home, "--sets", "machine"]
    result = negcorr(*arguments, "--out", tmp_path / "out")
    assert result.code == 1
    assert f"need {module}" in result.complaint()
    assert "pip install 'negcorr[cli,plot]'" in result.complaint()
    assert not (tmp_path / "out").exists()


def test_data_sets_are_listed_without_matplotlib_and_pandas(negcorr, monkeypatch):
    for module in ("matplotlib", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    assert negcorr("datasets").code == 0


def test_errors_of_our_own_making_are_not_hidden(negcorr, monkeypatch):
    def broken(data):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("negcorr.cli.listing.available", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["datasets"])
