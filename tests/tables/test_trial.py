import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from negcorr import make_tabular
from negcorr.bases import FourierFeatures
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import samples
from negcorr.exceptions import TableError
from negcorr.tables.splitting import hold_out
from negcorr.tables.trial import try_out

SMALL = {"basis": FourierFeatures(8, 5, inputs="none")}


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b"], size=n)})
    return frame.assign(y=np.sin(frame["x"]) + 0.1 * rng.normal(size=n))


def test_the_model_has_seen_all_rows_and_the_tried_one_only_its_own():
    frame = rows()
    schema = infer_columns(frame, "y")
    found = try_out(frame, schema, baselines=["mean"], parameters=SMALL, seed=3)
    train, test = hold_out(frame, schema, seed=3)
    assert found.refitted
    assert (found.n_rows, found.comparison.n_train, found.comparison.n_test) == (120, 96, 24)
    assert found.test.positions.tolist() == test.tolist()
    assert found.tried[-1].path_.spectrum.weight == len(train)
    assert found.model[-1].path_.spectrum.weight == 120
    alone = make_tabular(frame, "y", random_state=3, **SMALL)
    known = samples(frame, schema, train)
    alone.fit(known.inputs, known.y)
    np.testing.assert_array_equal(found.predicted, alone.predict(found.test.inputs))
    everything = make_tabular(frame, "y", random_state=3, **SMALL).fit(frame, frame["y"])
    np.testing.assert_array_equal(found.model.predict(frame), everything.predict(frame))


def test_rows_of_a_second_table_are_tested_on_and_never_fitted():
    frame, others = rows(), rows(40, seed=1)
    schema = infer_columns(frame, "y")
    found = try_out(frame, schema, test=others, baselines=["mean"], parameters=SMALL)
    assert not found.refitted
    assert (found.n_rows, found.comparison.n_train, found.comparison.n_test) == (120, 120, 40)
    assert found.model[-1].path_.spectrum.weight == 120
    np.testing.assert_array_equal(found.test.y, others["y"])


def test_a_second_table_needs_targets():
    frame = rows()
    with pytest.raises(TableError, match="0 of the rows for testing have their targets"):
        try_out(frame, infer_columns(frame, "y"), test=frame.assign(y=np.nan).head(20))
    with pytest.raises(TableError, match="column='y' is no column"):
        try_out(frame, infer_columns(frame, "y"), test=frame[["x", "kind"]])


def test_steps_are_told_in_order():
    told = []
    frame = rows()
    try_out(frame, infer_columns(frame, "y"), parameters=SMALL, tell=told.append)
    assert told == [
        "fitting NCL",
        "fitting mean",
        "fitting ridge",
        "fitting random forest",
        "fitting gradient boosting",
        "fitting NCL to all rows",
    ]


def test_a_regressor_without_intervals_weights_or_folds():
    frame = rows().assign(w=2.0, who=list("abcdef") * 20)
    schema = infer_columns(frame, "y", weights="w")
    found = try_out(
        frame, schema, pipeline=make_tabular(frame, "y", schema=schema, estimator=Ridge())
    )
    assert np.isnan(found.comparison["NCL"].figures[0].coverage)

    class Weightless(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    pipeline = make_tabular(frame, "y", schema=schema, estimator=Weightless())
    with pytest.raises(TableError, match="Weightless takes no weights"):
        try_out(frame, schema, pipeline=pipeline)


def test_groups_are_held_out_whole_and_tuned_by():
    frame = rows().assign(who=list("abcdef") * 20)
    schema = infer_columns(frame, "y", group="who")
    found = try_out(frame, schema, baselines=[], parameters=SMALL)
    assert len(set(found.test.groups)) == 1
    assert found.tried[-1].cv.get_n_splits() == 5
    assert found.model[-1].cv.get_n_splits() == 5
