"""Small tables in files, and options that keep fits short."""

import numpy as np
import pandas as pd

#: Few members, and rivals that cost nothing.
QUICK = ("--basis", "fourier", "--members", 8, "--components", 5, "--rivals", "mean,ridge")


def homes(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.gamma(2.0, 40.0, size=n).round(1),
            "kind": rng.choice(["flat", "house"], size=n),
            "built": pd.date_range("2001-01-31", periods=n, freq="7D").strftime("%Y-%m-%d"),
        }
    )
    frame["price"] = 900 * frame["size"] + 50_000 * (frame["kind"] == "house")
    frame["price"] += 2_000 * rng.normal(size=n)
    frame["rent"] = frame["price"] / 200 + 10 * rng.normal(size=n)
    frame.loc[3, "size"] = np.nan
    return frame


def write_homes(path, **options):
    homes(**options).to_csv(path, index=False)
    return path
