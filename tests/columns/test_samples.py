import pandas as pd
import pytest

from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
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
