"""The page about scale says what is stored, and the cost model is what its formulas say."""

import copy
import json
import pickle
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from benchmark_programs import ROOT, program
from models import ncl

from negcorr.criteria.kfold import MOST_KEPT_ROWS
from negcorr.moments import scan
from negcorr.rows.sample import SAMPLE_ROWS
from negcorr.scale import clusters, first_pass, planning

model, scale_bare, scale_words = map(program, ("scale_model", "scale_bare", "scale_words"))
scale_figure, scale_page, limits = map(program, ("scale_figure", "scale_page", "scale_limits"))
scale_benchmark, gpu_benchmark = program("scale"), program("gpu")

STORED = ROOT / "benchmarks" / "results" / "scale.json"

RATES = {
    "read_bytes": 1e9,
    "summary_bytes": 3e8,
    "book_bytes": 2e8,
    "product_flops": 4e10,
    "cosines": 3e8,
    "gram_flops": 4e10,
    "reduction_flops": 2e10,
    "merges": 200.0,
    "search_seconds": 0.1,
}


def streamed(n_rows, seconds, peak_bytes, share=0.7):
    rate = n_rows / seconds
    return {
        "rows": n_rows,
        "seconds": [seconds, seconds, 100 * seconds],
        "tuning_seconds": [0.1] * 3,
        "rows_per_second": rate,
        "bare_rows_per_second": rate / share,
        "share_of_bare": share,
        "peak_bytes": peak_bytes,
        "base_bytes": 2.5e8,
        "file_bytes": 102 * n_rows,
        "lam": 0.5,
    }


@pytest.fixture
def report():
    """Made up: all holds."""
    return {
        "provenance": {
            "command": "python benchmarks/scale/scale.py --rows 100000 1000000 --repeats 3",
            "cores": 2,
            "cpu": "Abacus 9000",
            "python": "3.11.0",
            "packages": {"negcorr": "0.0.1"},
            "blas": ["beads 1.0 (Wood)"],
        },
        "shape": {"inputs": 10, "members": 50, "width": 10, "outputs": 1, "folds": 5},
        "task_rows": 250_000,
        "bare": {
            "configurations": [
                {
                    "cosine": cosine,
                    "rows_in_cache": 64,
                    "rows_per_block": 2048,
                    "rows_per_second": rate,
                }
                for cosine, rate in (("numpy", 1.4e5), ("polynomial", 2.5e5))
            ],
            "fastest": {"cosine": "polynomial", "rows_in_cache": 64, "rows_per_block": 2048},
        },
        "rates": dict(RATES),
        "streamed": [
            streamed(100_000, 0.8, 4.6e8, share=0.5),
            streamed(1_000_000, 5.0, 5.3e8),
            streamed(10_000_000, 52.0, 5.4e8),
        ],
        "dask": [
            {
                "rows": 1_000_000,
                "seconds": [6.0],
                "one_process_seconds": [5.0],
                "ratio": 1.2,
                "workers": 2,
                "tasks": 4,
                "worker_peak_bytes": 4.6e8,
                "worker_base_bytes": 2.7e8,
                "travelled_results": 4,
                "lam": 0.5,
            }
        ],
        "gpu": [],
    }


GPU = {
    "device": "NVIDIA H200",
    "rows": 1_000_000,
    "inputs": 8,
    "features": 2000,
    "seconds": {"features_and_gram": 0.25, "eigendecomposition": 0.1},
    "by_rows": [
        {
            "rows": rows,
            "seconds": [0.5 + rows * 5e-8],
            "rows_per_second": rows / (0.5 + rows * 5e-8),
            "peak_device_bytes": 1e9 + 400 * rows,
            "device": "NVIDIA H200",
        }
        for rows in (10**5, 10**6, 10**7)
    ],
}


def test_the_page_is_made_of_the_stored_numbers():
    stored = json.loads(STORED.read_text())
    gpu = scale_page.stored_device(STORED.parent)
    expected = scale_page.page(scale_page.with_device(stored, gpu))
    assert (ROOT / "docs" / "scale.md").read_text(encoding="utf-8") == expected
    assert (ROOT / "docs" / "figures" / "scale.svg").exists()


def test_the_stored_numbers_name_no_machine_and_no_folder():
    text = STORED.read_text()
    command = json.loads(text)["provenance"]["command"]
    assert "/" not in command.replace("benchmarks/scale/scale.py", "")
    assert "/tmp" not in text
    assert "/home" not in text


def test_all_that_holds_is_said_to_hold(report):
    assert [line.verdict for line in limits.lines(report)] == ["held"] * 4
    text = scale_page.page(report)
    assert text.count("✓ **held**") == 4
    assert "not held" not in text
    assert "not measured" not in text


@pytest.mark.parametrize(
    ("number", "part", "name", "value", "shown"),
    [
        (0, ("streamed", 2), "peak_bytes", 1.3e9, "1.30 GB"),
        (1, ("streamed", 2), "rows_per_second", 1.4e5, "0.70"),
        (2, ("streamed", 1), "share_of_bare", 0.55, "55 %"),
        (3, ("dask", 0), "ratio", 1.4, "1.40"),
    ],
)
def test_what_does_not_hold_is_said_not_to_hold(report, number, part, name, value, shown):
    kind, place = part
    report[kind][place][name] = value
    found = limits.lines(report)
    assert [line.held for line in found] == [k != number for k in range(4)]
    assert found[number].printed.startswith("not held")
    assert shown in found[number].printed
    assert scale_page.page(report).count("✗ **not held**") == 1


def test_what_was_not_measured_is_said_so(report):
    report["streamed"], report["dask"] = report["streamed"][:1], []
    assert [line.held for line in limits.lines(report)] == [None] * 4
    assert scale_page.page(report).count("**not measured**") == 4


def test_small_fits_have_no_share_to_reach(report):
    assert report["streamed"][0]["share_of_bare"] < limits.LEAST_SHARE
    assert limits.lines(report)[2].held


def test_the_page_has_the_numbers_of_the_report(report):
    text = scale_page.page(scale_page.with_device(report, GPU))
    assert "| 10⁷ | 52.0 s | 192 000 | 275 000 | 70 % | 540 MB |" in text
    assert "| 10⁶ | 6.00 s | 5.00 s | 1.20 | 460 MB | 4 | 4 of at most 4 |" in text
    assert "Abacus 9000" in text
    assert "On one NVIDIA H200 10⁹ rows would take 50 s" in text
    assert "NVIDIA" not in scale_page.page(report)
    modelled = model.one_process_seconds(
        model.Shape(10, 50, 10), model.Rates.of(RATES), 10**7, cores=2
    )
    assert f"| one process | 10⁷ | 52.0 s | {modelled:.1f} s |" in text


def test_fits_on_a_gpu_have_a_table(report):
    report["gpu"] = [
        {
            "rows": 10**6,
            "seconds": [0.02],
            "rows_per_second": 5e7,
            "peak_device_bytes": 3e9,
            "device": "NVIDIA H200",
        }
    ]
    assert "| 10⁶ | 20 ms | 50 000 000 | 3000 MB |" in scale_page.page(report)


@pytest.mark.parametrize("with_gpu", [False, True])
def test_the_figure_is_drawn_the_same_every_time(report, tmp_path, with_gpu):
    if with_gpu:
        report["gpu"] = [{"rows": 10**6, "rows_per_second": 5e7, "device": "NVIDIA H200"}]
    for name in ("one.svg", "two.svg"):
        scale_figure.draw(report, tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert one == two
    assert one.startswith(b"<?xml")


def test_a_device_is_taken_from_results_that_have_one(tmp_path):
    assert scale_page.stored_device(tmp_path) is None
    (tmp_path / "gpu.json").write_text(json.dumps(GPU | {"device": "cpu"}))
    assert scale_page.stored_device(tmp_path) is None
    (tmp_path / "gpu.json").write_text(json.dumps(GPU))
    assert scale_page.stored_device(tmp_path) == GPU


@pytest.mark.parametrize(
    ("number", "shown"),
    [(100_000, "10⁵"), (300_000, "3·10⁵"), (20_640, "20 640"), (10**7, "10⁷"), (42, "42")],
)
def test_numbers_of_rows(number, shown):
    assert scale_words.count_text(number) == shown


def test_what_a_row_asks_for():
    shape = model.Shape(inputs=2, members=3, width=4)
    assert shape.features == 12
    assert model.row_work(shape) == {
        "row_bytes": 24,
        "feature_bytes": 8 * 14,
        "product_flops": 2 * 3 * 12,
        "cosines": 12,
        "gram_flops": 14**2,
    }
    assert model.moment_bytes(shape) == 8 * 5 * 14**2


def test_seconds_add_up():
    shape = model.Shape(inputs=1, members=1, width=1, folds=2)
    ones = model.Rates(16.0, 16.0, 16.0, 4.0, 1.0, 9.0, 4.0, 1.0, 0.5)
    # Each part of a row takes a second; K + 1 reductions of 4/3 operations one, and the search.
    assert model.row_parts(shape, ones) == dict.fromkeys(
        ("read", "summary", "book", "product", "cosines", "gram"), 1.0
    )
    assert model.tuning_seconds(shape, ones) == pytest.approx(1.5)
    # First pass, book-keeping, and a half of reading, product, cosines and Gram; one chunk merged.
    assert model.one_process_seconds(shape, ones, 10, cores=2) == pytest.approx(
        10 * (1 + 1 + 4 / 2) + 1 + 1.5
    )
    assert model.one_process_seconds(shape, ones, 10, cores=1) == pytest.approx(10 * 7 + 1 + 1.5)
    # Four blocks of five rows, two rounds; four sums by two cores and one level of eight.
    cost = model.cluster_cost(shape, ones, 20, cores=2, task_rows=5, base_bytes=0.0)
    assert cost.seconds == pytest.approx(2 * 5 * 7 + 4 / 2 + 8 + 1.5)
    assert cost.tasks == 4
    assert cost.read_bytes_per_second == pytest.approx(2 * 20 * 16 / cost.seconds)
    each = model.result_bytes(shape, 5) + model.summary_bytes(shape, 5)
    assert cost.wire_bytes == (2 + 1) * each + 4 * model.basis_bytes(shape)


def test_more_cores_take_less_time_and_no_more_memory():
    shape, rates = model.Shape(10, 50, 10), model.Rates.of(RATES)
    costs = [model.cluster_cost(shape, rates, 10**9, c, 250_000, 3e8) for c in (2, 16, 64, 256)]
    seconds = [cost.seconds for cost in costs]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] / seconds[-1] == pytest.approx(128, rel=0.1)
    assert len({cost.worker_bytes for cost in costs}) == 1


@pytest.mark.parametrize(
    ("tasks", "workers", "moved"),
    [(1, 2, 0), (4, 2, 2), (8, 1, 0), (8, 2, 4), (8, 8, 7), (16, 100, 14 + 1), (9, 100, 7 + 1)],
)
def test_results_that_travel(tasks, workers, moved):
    assert model.travelling_results(tasks, workers) == moved


def test_the_tree_is_that_of_the_package():
    assert model.tree_levels(1) == [1]
    assert model.tree_levels(8) == [8, 1]
    assert model.tree_levels(65) == [65, 9, 2, 1]


def test_the_constants_are_those_of_the_package():
    assert model.FAN_IN == clusters.FAN_IN
    assert model.BLOCK_BYTES == scan.BLOCK_BYTES
    assert model.KEPT_ROWS == MOST_KEPT_ROWS
    assert model.SAMPLE_ROWS == SAMPLE_ROWS
    assert model.CHUNK_ROWS == planning.MOST_ROWS


def test_bytes_of_results_are_those_that_are_sent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = np.sin(X[:, 0])
    shape = model.Shape(inputs=4, members=10, width=6)
    fitted = ncl(10, 6).partial_fit(X, y)
    sent = len(pickle.dumps(fitted._state.stream))
    assert model.result_bytes(shape, 6000) == pytest.approx(sent, rel=0.01)
    sent = len(pickle.dumps(first_pass.look_at(ncl(10, 6), X, y, None)))
    # Weights of one are not stored while the sample is all rows.
    assert model.summary_bytes(shape, 6000) - 8 * 6000 == pytest.approx(sent, rel=0.01)


def test_a_device_goes_by_its_largest_fits():
    fixed, seconds, size = model.device_line(GPU["by_rows"][::-1])
    assert (fixed, seconds, size) == pytest.approx((0.5, 5e-8, 400.0))


@pytest.mark.parametrize("cosine", ["numpy", "polynomial"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_bare_loop_makes_the_product_of_all_rows(cosine, n_threads):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(301, 3)), rng.normal(size=(4, 7))
    how = scale_bare.Configuration(cosine, rows_in_cache=16, rows_per_block=50)
    found, seconds = scale_bare.bare_gram(X, weights, how, n_threads)
    features = np.cos(X @ weights[:-1] + weights[-1])
    np.testing.assert_allclose(found, features.T @ features, atol=1e-9)
    assert seconds > 0


def test_the_command_is_told_without_folders():
    options = Namespace(
        rows=[10**5, 10**6], repeats=3, dask=True, dask_rows=[10**6], gpu=False, folder=Path("/x")
    )
    told = scale_benchmark.command(options)
    assert told == "python benchmarks/scale/scale.py --rows 100000 1000000 --repeats 3"
    options.dask_rows = [10**5]
    assert scale_benchmark.command(options).endswith("--dask-rows 100000")
    options.dask, options.gpu = False, True
    assert scale_benchmark.command(options).endswith("--no-dask --gpu")


def test_rows_of_a_file_are_written_once(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    scale_benchmark.write_rows(tmp_path, 100, group_rows=40)
    (path,) = tmp_path.iterdir()
    assert parquet.read_metadata(path).num_row_groups == 3
    before = path.stat().st_mtime_ns
    scale_benchmark.write_rows(tmp_path, 100, group_rows=40)
    assert path.stat().st_mtime_ns == before


def test_fits_on_device_and_processor_are_compared():
    one = {"lam": 0.9, "gap": 0.1, "dof": 50.0, "predictions": [1.0, 2.0, 4.0]}
    same = gpu_benchmark.agreement(one, copy.deepcopy(one))
    assert set(same.values()) == {0.0}
    other = one | {"dof": 40.0, "predictions": [1.0, 2.0, 3.0]}
    found = gpu_benchmark.agreement(one, other)
    assert found["dof"] == pytest.approx(0.25)
    assert found["predictions"] == pytest.approx(1 / np.std([1.0, 2.0, 3.0]))


def test_fewer_rows_are_the_first_of_more():
    few, many = gpu_benchmark.make_data(10), gpu_benchmark.make_data(25)
    for part, whole in zip(few, many, strict=True):
        np.testing.assert_array_equal(part, whole[:10])


@pytest.mark.parametrize(
    ("device", "seconds", "ratio", "held"),
    [
        ("NVIDIA H200", 0.4, 40.0, [True, True]),
        ("NVIDIA H200", 0.6, 20.0, [False, False]),
        ("cpu", 0.1, 40.0, [None, None]),
    ],
)
def test_what_must_hold_on_a_gpu(device, seconds, ratio, held):
    found = gpu_benchmark.lines(
        {
            "device": device,
            "rows": 10**6,
            "seconds": {"sure": seconds},
            "ratio": ratio,
            "cpu": {"extrapolated": False},
        }
    )
    assert [line.held for line in found] == held
