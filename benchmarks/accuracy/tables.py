"""Held-out errors of NCLRegressor on data frames, of variants, and of rivals, on the paper's data.

    python benchmarks/accuracy/tables.py --data FOLDER machine housing

FOLDER has the data sets as CSV files and datasets.json. Errors are in standard deviations of the
training targets, averaged over splits; changes are of paired splits, with a standard error.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from negcorr import NCLRegressor
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.kinds import infer_columns
from negcorr.reading.table import read_table
from negcorr.tables.trial import compare

#: Splits of a data set; fewer of large ones.
SPLITS = {"abalone": 3, "electrical": 3, "bank": 2, "kinematics": 2}
ONE_SPLIT = ("california", "ailerons", "elevators")

#: Whole numbers that are codes.
CATEGORICAL = {"housing": ["CHAS", "RAD"]}


def variants(seed, has_categories):
    """Fourier features in place of a search, and columns of 0 and 1 scaled as all others."""
    found = {"NCL, fourier": NCLRegressor("fourier", random_state=seed)}
    if has_categories:
        # Behind an encoder of its own the estimator does not know which columns are 0 and 1.
        scaled = make_pipeline(FrameEncoder(), NCLRegressor(random_state=seed))
        found["NCL, 0/1 columns scaled"] = scaled
    return found


def errors_of(folder, name, targets):
    """Root of the loss of every method on every split."""
    frame = read_table(folder / f"{name}.csv.gz").frame
    schema = infer_columns(frame, targets, categorical=CATEGORICAL.get(name, ()))
    errors = {}
    for seed in range(1 if name in ONE_SPLIT else SPLITS.get(name, 8)):
        for method in compare(frame, schema, seed=seed).methods:
            errors.setdefault(method.name, []).append(np.sqrt(method.loss))
        for label, other in variants(seed, bool(schema.named("category"))).items():
            only = compare(frame, schema, seed=seed, baselines=[], estimator=other)
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
