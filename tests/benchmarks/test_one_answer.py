"""The same rows give the same model at every door: the quick part of the program, as a whole."""

import json
import os
import subprocess
import sys

import pytest
from benchmark_programs import ROOT, program

pytest.importorskip("pyarrow")

one_answer = program("one_answer")


def test_every_line_holds():
    # In a process of its own: SciPy must be imported with its support of other array libraries.
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "one_answer.py"), "--quick"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    _, *lines, together = done.stdout.splitlines()
    assert [line for line in lines if not line.endswith("  yes")] == [], done.stderr
    assert {line.split()[0] for line in lines} == {"diabetes", "made"}
    assert len(lines) == together_of(together)
    assert done.returncode == 0


def together_of(line):
    assert " 0 beyond a limit" in line
    return int(line.split()[0])


def test_diabetes_comes_in_twenty_orders_and_the_others_through_each_door():
    cases = one_answer.plan(quick=False)
    of = {name: [case for case in cases if case.table == name] for name in one_answer.SETS}
    assert len({case.order for case in of["diabetes"]}) == 20
    for name, count in {"made": 3, "abalone": 3, "water": 3, "california": 1}.items():
        for door in one_answer.DOORS:
            orders = {case.order for case in of[name] if case.door is door}
            assert len(orders) == count
            assert 0 not in orders  # the reference's


def test_cases_are_stored_and_run_again_for_another_reference(tmp_path, monkeypatch):
    path = tmp_path / "found.json"
    table = one_answer.load_set("diabetes")
    runs = []

    def through(given, there, folder):
        runs.append(given)
        return answer

    answer = {"members": ["one"], "gap": [0.1], "dof": [3.0], "predictions": [0.0], "spread": [1.0]}
    door = one_answer.Door("a door", through)
    monkeypatch.setattr(one_answer, "DOORS", (door,))
    monkeypatch.setattr(one_answer, "SETS", ("diabetes",))
    monkeypatch.setattr(one_answer, "of_frame", lambda *given: answer)
    monkeypatch.setattr(one_answer, "of_scaled", lambda *given: answer)

    def lines():
        return list(one_answer.doors(one_answer.Results(path, anew=False), quick=False))

    first = lines()
    assert len(runs) == 3
    assert not runs[0].inputs.equals(table.inputs)
    assert all(one_answer.holds(found, limit) for _, _, found, limit in first)
    assert lines() == first
    assert len(runs) == 3
    assert len(json.loads(path.read_text("utf-8"))) == 3
    answer["dof"] = [4.0]
    assert len(lines()) == 3
    assert len(runs) == 6


def test_a_door_that_fails_is_a_line_that_does_not_hold(monkeypatch, capsys):
    def through(given, there, folder):
        raise ValueError("it is shut")

    answer = {"members": ["one"], "gap": [0.1], "dof": [3.0], "predictions": [0.0], "spread": [1.0]}
    monkeypatch.setattr(one_answer, "of_frame", lambda *given: answer)
    monkeypatch.setattr(one_answer, "of_scaled", lambda *given: answer)
    monkeypatch.setattr(one_answer, "DOORS", (one_answer.Door("a door", through),))
    assert one_answer.main(["--quick"]) == 1
    out = capsys.readouterr().out
    assert "ValueError: it is shut" in out
    assert "2 fits, 2 beyond a limit" in out


def test_what_is_beyond_a_limit():
    found = {"members": True, "lam": 0.0, "dof": 0.0, "predictions": 0.0}
    assert one_answer.holds(found, 1e-6)
    for change in ({"members": False}, {"lam": 1.0}, {"dof": 2e-8}, {"predictions": 2e-6}):
        assert not one_answer.holds(found | change, 1e-6)


def test_an_environment_of_the_oldest_releases_has_all_lower_bounds(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr(one_answer.venv, "create", lambda *given, **named: None)
    monkeypatch.setattr(one_answer.subprocess, "run", lambda words, check: called.append(words))
    assert one_answer.oldest_releases(tmp_path).startswith(str(tmp_path))
    assert {"numpy==2.0", "scipy==1.13", "scikit-learn==1.6"} <= set(called[0])
