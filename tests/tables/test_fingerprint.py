import json

import numpy as np
import pandas as pd
import pytest

from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import hashes, samples
from negcorr.tables.fingerprint import SKETCH, Fingerprint


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "k": rng.choice(["a", "b"], size=n)})
    return frame.assign(y=rng.normal(size=n))


SCHEMA = infer_columns(rows(), "y")


def fingerprint(frame):
    return Fingerprint.of(samples(frame, SCHEMA), SCHEMA)


def test_order_and_writing_do_not_matter():
    frame = rows(200)
    other = frame.sample(frac=1.0, random_state=1).astype({"x": str, "y": str})
    assert fingerprint(other) == fingerprint(frame)
    assert fingerprint(frame.head(199)).digest != fingerprint(frame).digest
    assert fingerprint(frame.assign(y=0.5 + frame["y"])).digest != fingerprint(frame).digest


@pytest.mark.parametrize("n", [50, SKETCH, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_share_of_known_rows(n, share):
    seen, others = rows(n), rows(n, seed=1)
    n_known = round(share * n)
    mixed = pd.concat([seen.head(n_known), others.tail(n - n_known)])
    found = fingerprint(seen).share_of(samples(mixed, SCHEMA), SCHEMA)
    assert found == pytest.approx(n_known / n, abs=0.0 if n <= SKETCH else 0.1)
    if share in (0.0, 1.0):
        assert found == share


def test_json():
    one = fingerprint(rows(700))
    assert len(one.smallest) == SKETCH
    assert Fingerprint.from_dict(json.loads(json.dumps(one.to_dict()))) == one


def test_parts_add_up():
    frame = rows(900)
    keys = hashes(samples(frame, SCHEMA), SCHEMA, 7)
    parts = (
        Fingerprint(seed=7).with_hashes(keys[600:]).with_hashes(keys[:0]).with_hashes(keys[:600])
    )
    assert parts == Fingerprint.of(samples(frame, SCHEMA), SCHEMA, 7)
    assert parts.share_of(samples(frame, SCHEMA), SCHEMA) == 1.0
    assert parts.digest != fingerprint(frame).digest
