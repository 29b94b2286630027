"""The guide shows what the commands print."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.rst"

pytestmark = pytest.mark.skipif(not GUIDE.is_file(), reason="no documentation beside the tests")


def shown_after(command):
    """Lines of the block that a command stands in, up to the end of the block."""
    lines = iter(GUIDE.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.strip() == f"$ {command}":
            break
    else:
        raise AssertionError(command)
    block = []
    for line in lines:
        if line.strip() and not line.startswith("   "):
            break
        block.append(line)
    return essence("\n".join(block))


def essence(text):
    """Words without layout, and without the seconds at the end of a line of the table."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return [re.sub(r" \d+\.\d\d$", "", line) for line in lines]


def test_the_commands_of_the_guide(negcorr):
    said = essence(negcorr("demo").out)
    fit = "negcorr fit negcorr-demo/diabetes.csv --target progression --out negcorr-demo"
    shown = shown_after(fit)
    assert said[0] == f"$ {fit}"
    assert said[1 : 1 + len(shown)] == shown
    model, data = "negcorr-demo/model.skops", "negcorr-demo/diabetes.csv"
    predicted = negcorr("predict", model, data, "--interval", 0.9).out
    shown = shown_after(f"negcorr predict {model} {data} --interval 0.9 | head -2")
    assert predicted.splitlines()[0] == shown[0]
    first = [float(value) for value in predicted.splitlines()[1].split(",")]
    assert first == pytest.approx([float(value) for value in shown[1].split(",")], rel=1e-6)
    forest = "sklearn.ensemble.RandomForestRegressor"
    asked = ["dof", data, "--target", "progression", "--estimator", forest]
    asked += ["--param", "min_samples_leaf=10"]
    assert essence(negcorr(*asked).out) == shown_after(" ".join(["negcorr", *asked]))
