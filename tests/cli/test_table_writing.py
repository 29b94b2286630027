import pandas as pd
import pytest

from negcorr.cli.table_writing import ENDINGS, table_writer
from negcorr.reading.table import read_table

PARTS = [
    pd.DataFrame({"x": [0.1, 1 / 3], "k": ["a", None]}),
    pd.DataFrame({"x": [1e-300], "k": [None]}),
]


@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_become_one_table(tmp_path, ending):
    path = tmp_path / "here" / f"made{ending}"
    path.write_text("older", encoding="utf-8")
    with table_writer(path) as write:
        for part in PARTS:
            write(part)
        assert path.read_text(encoding="utf-8") == "older"
    frame = read_table(path).frame
    assert frame["x"].tolist() == [0.1, 1 / 3, 1e-300]
    assert frame["k"].isna().tolist() == [False, True, True]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_parts", [0, 1])
def test_a_failure_leaves_the_older_file(tmp_path, ending, n_parts):
    path = tmp_path / "here" / f"made{ending}"
    path.write_text("older", encoding="utf-8")

    def broken():
        with table_writer(path) as write:
            for part in PARTS[:n_parts]:
                write(part)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert path.read_text(encoding="utf-8") == "older"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("raw", [True, False])
def test_a_carriage_return_in_a_cell_does_not_end_its_record(tmp_path, raw):
    frame = pd.DataFrame({"kept": ["a\rb", "c"], "x": [0.5, 1.5]})
    with table_writer(tmp_path / "t.csv", raw) as write:
        write(frame)
        write(frame.iloc[1:])
    assert len(pd.read_csv(tmp_path / "t.csv")) == 3
    assert len(read_table(tmp_path / "t.csv").frame) == 3
