"""Held-out errors of make_tabular, of other ways to scale, and of rivals, on the paper's data sets.

    python benchmarks/accuracy/tables.py --data FOLDER machine housing

FOLDER has the data sets as CSV files and datasets.json. Errors are in standard deviations of the
training targets, averaged over splits; changes are of paired splits, with a standard error.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from negcorr import make_tabular
from negcorr.columns.kinds import infer_columns
from negcorr.reading.table import read_table
from negcorr.tables.trial import compare

#: Splits of a data set; fewer of large ones.
SPLITS = {"abalone": 3, "electrical": 3, "bank": 2, "kinematics": 2}
ONE_SPLIT = ("california", "ailerons", "elevators")

#: Whole numbers that are codes.
CATEGORICAL = {"housing": ["CHAS", "RAD"]}


def variants(pipeline, has_categories):
    """The same pipeline with numbers scaled as they are, and with 0/1 columns scaled too."""
    plain = clone(pipeline).set_params(encode__numbers__scale=StandardScaler())
    found = {"NCL, extremes left": plain}
    if has_categories:
        found["NCL, 0/1 columns scaled"] = clone(pipeline).set_params(model__basis="fourier")
    return found


def errors_of(folder, name, targets):
    """Root of the loss of every method on every split."""
    frame = read_table(folder / f"{name}.csv.gz").frame
    schema = infer_columns(frame, targets, categorical=CATEGORICAL.get(name, ()))
    errors = {}
    for seed in range(1 if name in ONE_SPLIT else SPLITS.get(name, 8)):
        for method in compare(frame, schema, seed=seed).methods:
            errors.setdefault(method.name, []).append(np.sqrt(method.loss))
        pipeline = make_tabular(frame, targets, schema=schema, random_state=seed)
        for label, other in variants(pipeline, bool(schema.named("category"))).items():
            only = compare(frame, schema, seed=seed, baselines=[], pipeline=other)
            errors.setdefault(label, []).append(np.sqrt(only.methods[0].loss))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    about = json.loads((arguments.data / "datasets.json").read_text("utf-8"))
    targets = {entry["name"]: entry["targets"] for entry in about}
    for name in arguments.names:
        errors = errors_of(arguments.data, name, targets[name])
        for label, values in errors.items():
            change = 100 * (np.array(values) / np.array(errors["NCL"]) - 1)
            n = len(change)
            spread = f" ± {change.std(ddof=1) / n**0.5:.2f}" if n > 1 else ""
            line = f"{name:11s} {label:24s} {np.mean(values):7.4f} {change.mean():+8.2f} %{spread}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
