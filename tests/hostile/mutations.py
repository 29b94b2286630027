"""Ways to damage the bytes of a file."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np

__all__ = ["MUTATIONS", "mutated_member"]

#: Numbers that no table should hold, and things that look like numbers.
ABSURD = (
    b"1e999",
    b"-1e308",
    b"9" * 400,
    b"1" * 5000,
    b"0x10",
    b"1_000",
    b"NaN",
    b"-0",
    b"4294967296",
    b"9223372036854775808",
    b"-9999999999999999999",
    b"1e-400",
    "٣".encode(),
    "²".encode(),
    b"",
    b"-",
    b"1,5",
    b"=1+1",
)

#: Words that structure files, in places where they should not be.
FRAGMENTS = (
    b"\0",
    b"\0" * 64,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n\n",
    b'"',
    b"'",
    b",",
    b";",
    b"{",
    b"}",
    b"\\",
    b"%",
    b"@data\n",
    b"@attribute z date 'yyyy yyyy'\n",
    b"@attribute z {}\n",
    b"{99999999999999999999 1}\n",
    b"{0 1,0 2}\n",
    b"PAR1",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\xed\xa0\x80",
    b"<c/>",
    b'r="XFD1048576"',
    b"&a;",
    "\u2028".encode(),
    b"\x1b[31m",
)


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes are others."""
    made = np.frombuffer(data, dtype=np.uint8).copy()
    at = rng.integers(len(made), size=int(rng.integers(1, 9)))
    made[at] = rng.integers(256, size=len(at))
    return made.tobytes()


def flip_end(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes near the end, where formats keep their directories."""
    cut = max(len(data) - 400, 0)
    return data[:cut] + (flip(data[cut:], rng) if data[cut:] else b"")


def remove(data: bytes, rng: np.random.Generator) -> bytes:
    """A piece is gone."""
    start, stop = _piece(data, rng)
    return data[:start] + data[stop:]


def repeat(data: bytes, rng: np.random.Generator) -> bytes:
    """A piece stands there several times."""
    start, stop = _piece(data, rng)
    return data[:stop] + data[start:stop] * int(rng.integers(1, 20)) + data[stop:]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """The end is gone."""
    return data[: int(rng.integers(len(data) + 1))]


def swap(data: bytes, rng: np.random.Generator) -> bytes:
    """Two pieces have changed places."""
    a, b, c, d = sorted(rng.integers(len(data) + 1, size=4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    """Something stands where it should not."""
    at = int(rng.integers(len(data) + 1))
    return data[:at] + FRAGMENTS[int(rng.integers(len(FRAGMENTS)))] + data[at:]


def absurd_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Digits are others, or far more."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data[:20_000]))
    if not found:
        return data
    one = found[int(rng.integers(len(found)))]
    return data[: one.start()] + ABSURD[int(rng.integers(len(ABSURD)))] + data[one.end() :]


def repeat_line(data: bytes, rng: np.random.Generator) -> bytes:
    """The first line, the header of most text, stands somewhere else too."""
    lines = data.split(b"\n")
    lines.insert(int(rng.integers(len(lines) + 1)), lines[0])
    return b"\n".join(lines)


def long_cell(data: bytes, rng: np.random.Generator) -> bytes:
    """A cell of very many characters."""
    at = int(rng.integers(len(data) + 1))
    return (
        data[:at] + bytes([int(rng.integers(32, 127))]) * 10 ** int(rng.integers(3, 7)) + data[at:]
    )


def many(data: bytes, rng: np.random.Generator) -> bytes:
    """Very many columns or rows of a byte each."""
    at = int(rng.integers(len(data) + 1))
    piece = (b",", b"\n", b",\n", b";", b"1\n", b"\t", b"{}\n", b'""')[int(rng.integers(8))]
    return data[:at] + piece * 10 ** int(rng.integers(2, 6)) + data[at:]


def other_encoding(data: bytes, rng: np.random.Generator) -> bytes:
    """Text in another encoding than its mark or its other half says."""
    encoding = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037")[int(rng.integers(5))]
    text = data.decode("utf-8", "replace")
    half = len(text) // 2 if rng.random() < 0.5 else 0
    return text[:half].encode() + text[half:].encode(encoding, "replace")


MUTATIONS = (
    flip,
    flip,
    flip_end,
    remove,
    repeat,
    truncate,
    swap,
    insert,
    insert,
    absurd_number,
    absurd_number,
    repeat_line,
    long_cell,
    many,
    other_encoding,
)


def mutated_member(data: bytes, rng: np.random.Generator) -> bytes:
    """A zip archive, such as a workbook, with one damaged part and correct checksums."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        names = old.namelist()
        sheets = [name for name in names if "sheet" in name or "sharedStrings" in name]
        chosen = str(rng.choice(sheets if sheets and rng.random() < 0.6 else names))
        for name in names:
            part = old.read(name)
            if name == chosen and part:
                part = MUTATIONS[int(rng.integers(len(MUTATIONS)))](part, rng)
            new.writestr(name, part)
    return stream.getvalue()


def _piece(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, start + int(rng.integers(1, max(len(data) // 4, 2)))
