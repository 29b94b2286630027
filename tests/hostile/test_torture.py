"""The runner stores every case once, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile import torture

TOY = ["toy_campaign"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    file = tmp_path_factory.mktemp("torture") / "toy.jsonl"
    return torture.torture(TOY, file, jobs=2), file


def test_every_case_has_one_line(results):
    lines, file = results
    assert sorted(line["number"] for line in lines) == list(range(7))
    assert torture.stored(file) == lines


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (1, "the sum is 3, not 4"),
        (2, "ValueError: no such problem (toy_campaign.py:"),
        (3, "it took more than 3 s"),
        (4, "its process ended with exit code 9"),
        (5, "MemoryError"),
    ],
)
def test_a_fault_says_what_happened(results, number, fault):
    (line,) = (line for line in results[0] if line["number"] == number)
    assert len(line["faults"]) == 1
    assert line["faults"][0].startswith(fault)


def test_cases_without_faults(results):
    good = [line for line in results[0] if not line["faults"]]
    answers = {line["number"]: (line["kind"], line["answer"]) for line in good}
    assert answers == {0: ("plain", "answered"), 6: ("odd", "refused")}
    assert all(0 < line["mebibytes"] < 4096 for line in good)


def test_stored_cases_are_not_run_again(results, tmp_path):
    lines, _ = results
    kept = "".join(json.dumps(line) + "\n" for line in lines if line["number"] not in (0, 6))
    file = tmp_path / "toy.jsonl"
    # A run that was killed while it wrote its last line.
    file.write_text(kept + '{"campaign": "toy_campaign", "num', encoding="utf-8")
    again = torture.torture(TOY, file)
    assert sorted(line["number"] for line in again) == [0, 6]
    assert sorted(line["number"] for line in torture.stored(file)) == list(range(7))


def test_the_table_counts_by_kind(results):
    head, *rows = torture.table(results[0])
    counts = {row[1]: dict(zip(head[2:], row[2:], strict=True)) for row in rows}
    assert counts["plain"]["cases"] == counts["plain"]["answered"] == "2"
    assert counts["plain"]["faults"] == "1"
    assert counts["odd"]["refused"] == "1"
    assert counts[torture.NO_ANSWER]["faults"] == "4"
    assert rows[-1][:3] == ("all", "", "7")


def test_the_page_names_cases_with_faults(results):
    written = torture.page(results[0])
    assert "| toy_campaign | plain | 2 | 2 |" in written
    assert "- toy_campaign 1 (plain): the sum is 3, not 4" in written


def test_ctrl_c_ends_the_workers_and_keeps_the_results(tmp_path):
    code = (
        "import sys; from pathlib import Path; from hostile import torture\n"
        "torture.CAMPAIGNS = ('toy_campaign',)\n"
        "torture.importlib.import_module('toy_campaign').SECONDS = 60.0\n"
        "if __name__ == '__main__': sys.exit(torture.main(sys.argv[1:]))"
    )
    tests = Path(__file__).parents[1]
    program, out = tmp_path / "program.py", tmp_path / "toy.jsonl"
    program.write_text(code, encoding="utf-8")
    run = subprocess.Popen(
        [sys.executable, program, "--out", out, "--jobs", "1", "--only", "toy_campaign"],
        env={**os.environ, "PYTHONPATH": f"{tests}:{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while len(torture.stored(out)) < 3 and time.monotonic() < end:  # case 3 sleeps
        time.sleep(0.1)
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    _, words = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Traceback" not in words
    assert [line["number"] for line in torture.stored(out)] == [0, 1, 2]
