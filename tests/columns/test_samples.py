import numpy as np
import pandas as pd
import pytest

from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import hashes, samples
from negcorr.exceptions import TableError


def test_samples_leave_out_rows_without_targets_and_sort_by_time():
    frame = pd.DataFrame(
        {"t": ["3/1/2024", "1/1/2024", "2/1/2024", "4/1/2024"], "x": [9.0, 1.0, 5.0, 2.0]}
    )
    frame["y"] = ["$1", "$2", None, "$3"]
    rows = samples(frame, infer_columns(frame, "y", time="t"))
    assert rows.positions.tolist() == [1, 0, 3]
    assert rows.y.tolist() == [2.0, 1.0, 3.0]
    assert list(rows.inputs.columns) == ["x"]
    with pytest.raises(TableError, match="column='x' is no column"):
        samples(frame.drop(columns="x"), infer_columns(frame, "y"))


def test_columns_as_the_schema_reads_them():
    frame = pd.DataFrame(
        {"zone": [1, 2, None, 2], "cost": ["$1,000", "$2", "?", "$3"], "y": [1.0, 2.0, 3.0, 4.0]},
        index=[5, 5, 6, 7],
    )
    schema = infer_columns(frame, "y", categorical=["zone"])
    rows = samples(frame, schema, [3, 0])
    assert rows.inputs["zone"].cat.categories.tolist() == ["1", "2"]
    assert rows.inputs["zone"].tolist() == ["2", "1"]
    assert rows.inputs["cost"].tolist() == ["$3", "$1,000"]
    assert samples(frame, schema).inputs["zone"].isna().tolist() == [False, False, True, False]
    assert rows.inputs.index.tolist() == [7, 5]
    typed = samples(frame, schema, typed=True)
    assert typed.inputs["cost"].tolist()[:2] == [1000.0, 2.0]
    np.testing.assert_array_equal(hashes(typed, schema), hashes(samples(frame, schema), schema))


def test_what_a_fit_takes_beside_inputs_and_targets():
    frame = pd.DataFrame({"x": [3.0, 1.0, 2.0], "w": [1, 2, 1], "who": ["a", "b", "a"]})
    schema = infer_columns(frame.assign(y=[1.0, 2.0, 4.0]), "y", weights="w", group="who")
    given = samples(frame.assign(y=[1.0, 2.0, 4.0]), schema).fit_parameters
    assert {name: list(values) for name, values in given.items()} == {
        "sample_weight": [1.0, 2.0, 1.0],
        "groups": ["a", "b", "a"],
    }
