"""Small valid files of every kind that is read, made at random."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable

import numpy as np
import pandas as pd

__all__ = ["KINDS", "packed", "valid_table"]

WORDS = ("a", "b c", "é", "🙂", "NA", "?", "", "O'Brien", '"q"', "two\nlines", "x,y", "007", "-")
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252")


def frame_of(rng: np.random.Generator) -> pd.DataFrame:
    """A table whose last column, y, could be predicted."""
    n = int(rng.integers(1, 60))
    x = rng.normal(size=n).round(int(rng.integers(0, 6)))
    columns = {
        "x": x,
        "whole": rng.integers(-9, 999, size=n),
        "kind": rng.choice(["flat", "house", "boat"], size=n),
        "word": rng.choice(WORDS, size=n),
        "day": pd.date_range("2024-01-31", periods=n).strftime("%Y-%m-%d"),
        "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    }
    chosen = rng.permutation(list(columns))[: int(rng.integers(1, len(columns) + 1))]
    frame = pd.DataFrame({name: columns[name] for name in chosen})
    return frame.assign(y=(x + 0.1 * rng.normal(size=n)).round(4))


def text(rng: np.random.Generator) -> tuple[str, bytes]:
    """Text with delimiters."""
    delimiter = str(rng.choice(list(",,;\t|")))
    stream = io.StringIO(newline="")
    frame_of(rng).to_csv(
        stream,
        sep=delimiter,
        index=False,
        decimal="," if delimiter == ";" and rng.random() < 0.5 else ".",
        lineterminator=str(rng.choice(["\n", "\r\n", "\r"])),
        quoting=csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL,
    )
    encoding = str(rng.choice(ENCODINGS))
    errors = "replace" if encoding in ("latin-1", "cp1252") else "strict"
    return ".tsv" if delimiter == "\t" else ".csv", stream.getvalue().encode(encoding, errors)


def parquet(rng: np.random.Generator) -> tuple[str, bytes]:
    """Parquet, in several groups of rows."""
    stream = io.BytesIO()
    frame = _typed(frame_of(rng), rng)
    compression = rng.choice(["snappy", "zstd", "gzip", "none", "brotli"])
    frame.to_parquet(
        stream,
        index=False,
        compression=None if compression == "none" else str(compression),
        row_group_size=int(rng.integers(1, 40)),
        use_dictionary=bool(rng.random() < 0.7),
        data_page_version=str(rng.choice(["1.0", "2.0"])),
    )
    return ".parquet", stream.getvalue()


def feather(rng: np.random.Generator) -> tuple[str, bytes]:
    """Feather, of the second version."""
    stream = io.BytesIO()
    compression = str(rng.choice(["lz4", "zstd", "uncompressed"]))
    _typed(frame_of(rng), rng).to_feather(
        stream, compression=compression, chunksize=int(rng.integers(1, 40))
    )
    return ".feather", stream.getvalue()


def arff(rng: np.random.Generator) -> tuple[str, bytes]:
    """ARFF, with sparse rows among others."""
    n = int(rng.integers(1, 40))
    head = [
        "% made at random",
        "@relation r",
        "@attribute size real",
        "@attribute 'the kind' {a,'b c',\"d'e\"}",
        "@attribute word string",
        str(rng.choice(["@attribute day date", "@attribute day date 'yyyy-MM-dd'"])),
        "@attribute y numeric",
        "@data",
    ]
    stamp = "2024-01-31T10:00:00" if head[5].endswith("date") else "2024-01-31"
    rows = []
    for _ in range(n):
        size, y = rng.normal(size=2).round(3)
        level = rng.choice(["a", "'b c'", '"d\'e"', "?"])
        if rng.random() < 0.3:
            rows.append(f"{{0 {size}, 1 {level}, 4 {y}}}")
        else:
            rows.append(f"{size},{level},'it\\'s',{stamp},{y}")
    return ".arff", "\n".join([*head, *rows, ""]).encode()


def excel(rng: np.random.Generator) -> tuple[str, bytes]:
    """A workbook of one sheet or two."""
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        for sheet in range(int(rng.integers(1, 3))):
            frame_of(rng).to_excel(writer, sheet_name=f"s{sheet}", index=False)
    return ".xlsx", stream.getvalue()


def _typed(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Some columns as categories and dates."""
    if "kind" in frame and rng.random() < 0.5:
        frame["kind"] = frame["kind"].astype("category")
    if "day" in frame and rng.random() < 0.5:
        frame["day"] = pd.to_datetime(frame["day"])
    return frame


def packed(data: bytes, how: str) -> bytes:
    """Bytes in an archive, by the ending of its name."""
    if how == ".zip":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.csv", data)
        return stream.getvalue()
    compress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    return compress[how](data)


KINDS = {"text": text, "Parquet": parquet, "Feather": feather, "ARFF": arff, "Excel": excel}


def valid_table(kind: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """Ending and bytes of a small valid file of one kind."""
    return KINDS[kind](rng)
