import json
import warnings

import pytest

from negcorr.cli.output import Output
from negcorr.cli.plain_text import finite, printable


def test_results_and_remarks_go_apart(capsys):
    output = Output()
    output.say("[red]said[/red] :smile:")
    output.note("noted\x1b[31m")
    output.detail("not told")
    output.give_json({"not": "given"})
    said = capsys.readouterr()
    assert said.out == "[red]said[/red] :smile:\n"
    assert said.err == "note: noted\\x1b[31m\n"


def test_quiet_verbose_and_json(capsys):
    quiet = Output(quiet=True)
    quiet.say("words")
    quiet.note("words")
    quiet.table(["a"], [["b"]])
    assert capsys.readouterr() == ("", "")
    Output(verbose=True).detail("a step")
    assert capsys.readouterr() == ("", "a step\n")
    machine = Output(as_json=True)
    machine.say("words")
    machine.table(["a"], [["b"]])
    machine.give_json({"a": float("nan"), "b": (1.0, float("inf")), "c": "é"})
    said = capsys.readouterr()
    assert json.loads(said.out) == {"a": None, "b": [1.0, None], "c": "é"}
    assert "é" in said.out


def test_tables_show_names_as_they_are(capsys):
    Output().table(["name", "[b]"], [["<img>\n[red]x", "1"], ["y" * 500, "22"]], title="Title")
    said = capsys.readouterr().out
    assert said.startswith("Title\n")
    assert "<img>\\n[red]x" in said
    assert "[b]" in said
    assert "…" in said
    assert "y" * 100 not in said


def test_warnings_become_notes_once(capsys):
    with Output().busy("working") as tell:
        tell("still working")
        for _ in range(3):
            warnings.warn("mind the gap", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: mind the gap\n"


def test_warnings_of_a_block_that_fails_do_not_hide_its_error(capsys):
    def broken():
        with Output().busy("working"):
            warnings.warn("mind the gap", UserWarning, stacklevel=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()


def test_printable_and_finite():
    assert printable("a\u202eb\r") == "a\\u202eb\\r"
    assert len(printable("x" * 100, 10)) == 10
    assert finite({1: [float("-inf")]}) == {"1": [None]}
