"""The demo runs, and writes what it says it writes."""

import csv

from matplotlib.image import imread

from negcorr import demo


def test_demo_writes_a_picture_and_its_numbers(tmp_path, capsys):
    demo.main(["--out", str(tmp_path / "new" / "folder")])
    printed = capsys.readouterr().out
    assert "degrees of freedom" in printed
    assert "held-out rows" in printed
    picture = imread(tmp_path / "new" / "folder" / "path.png")
    assert picture.shape[0] > 500
    assert picture.std() > 0.05
    with (tmp_path / "new" / "folder" / "path.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 71
    dof = [float(row["dof"]) for row in rows]
    error = [float(row["train_error"]) for row in rows]
    assert dof == sorted(dof)
    assert error == sorted(error, reverse=True)
    assert {"gap", "lam", "sure", "gcv", "kfold", "diversity", "member_error"} <= set(rows[0])
