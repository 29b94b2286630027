"""Other kernels, threads and precision of input give the same model: child processes compared."""

import pytest
from benchmark_programs import program

machines = program("one_answer_machines")


@pytest.fixture(scope="session")
def reference():
    """What the fits answer in the environment as it is, but on one thread."""
    return machines.answers_in(machines.REFERENCE)


def assert_same(answer, reference):
    found = machines.differences(answer, reference)
    assert found["members"]
    assert found["lam"] < 1e-6
    assert found["dof"] <= 1e-8
    assert found["predictions"] <= 1e-6


@pytest.mark.parametrize("environment", machines.ENVIRONMENTS, ids=lambda each: each.name)
def test_another_environment_answers_the_same(environment, reference):
    try:
        answers = machines.answers_in(environment)
    except machines.CannotRunError as reason:
        pytest.skip(f"{environment.name}: {reason}")
    assert answers.keys() == reference.keys()
    for case, answer in answers.items():
        assert_same(answer, reference[case])


def test_single_precision_is_the_double_precision_of_the_same_numbers():
    answers = machines.answers_in(machines.SINGLE)
    for name in machines.TABLES:
        assert_same(answers[f"{name}, single"], answers[f"{name}, copy"])


def test_what_cannot_be_run_is_said():
    with pytest.raises(machines.CannotRunError, match="Nonesuch"):
        machines.answers_in(machines.Environment("none", core="Nonesuch"))


def test_differences_are_in_lattice_points_and_standard_deviations():
    one = {"members": ["a"], "gap": [0.1], "dof": [20.0], "predictions": [1.0], "spread": [2.0]}
    other = one | {"gap": [0.1 * 10**-0.02], "dof": [20.2], "predictions": [1.5]}
    found = machines.differences(other, one)
    assert found == pytest.approx({"members": True, "lam": 1.0, "dof": 0.01, "predictions": 0.25})
    with pytest.raises(ValueError, match="different rows"):
        machines.differences(one | {"predictions": [1.0, 2.0]}, one)
