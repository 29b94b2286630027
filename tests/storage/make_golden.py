"""Writes the golden files of the newest format: models, and what they answered when written.

Run ``python tests/storage/make_golden.py`` when the format has changed, or classes that no release
has yet written to files.
"""

import json
from pathlib import Path

import numpy as np

from negcorr import NCLRegressor, save
from negcorr.bases import FourierFeatures
from negcorr.storage.model_files import FORMAT

GOLDEN = Path(__file__).parent / "golden"
INPUTS = np.array([[0.0, 0.0], [0.5, -0.5], [-1.0, 1.0]])


def main():
    """Fit one small model, save it whole and compact, and note its answers."""
    GOLDEN.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=40)
    model = NCLRegressor(FourierFeatures(n_members=3, n_components=2)).partial_fit(X, y)
    save(model.compact(), GOLDEN / f"format{FORMAT}.skops", notes={"target": "y"})
    save(model, GOLDEN / f"format{FORMAT}-full.skops", notes={"target": "y"})
    curves = model.path_.curves([1.0, 0.1])
    answers = {
        "inputs": INPUTS.tolist(),
        "rows": len(y),
        "predicted": model.predict(INPUTS).tolist(),
        "intervals": model.predict_interval(INPUTS, 0.8).tolist(),
        "dof": curves["dof"].tolist(),
        "kfold": curves["kfold"].tolist(),
    }
    text = json.dumps(answers, indent=1) + "\n"
    (GOLDEN / f"format{FORMAT}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
