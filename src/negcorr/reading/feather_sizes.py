"""Bytes that the batches of a Feather file unpack to, as the file states before it is unpacked.

pyarrow shows the messages of such a file, but not the sizes in them. They are in a table of
FlatBuffers, of which this reads the few fields that are needed (Message.fbs and Schema.fbs of
Arrow).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["unpacked_sizes"]

#: Numbers of fields: of a message, of a batch of a dictionary, and of a batch of rows.
_HEADER, _DATA, _BUFFERS, _COMPRESSION = 2, 1, 2, 3

#: Bytes of the mark at the beginning of a file; messages are behind it.
_START = 8


def unpacked_sizes(data: Any) -> Iterator[int]:
    """Bytes of each batch of a Feather file of the second version, without unpacking one.

    Parameters
    ----------
    data : bytes or pyarrow.Buffer

    Examples
    --------
    >>> import io
    >>> import pyarrow, pyarrow.feather
    >>> from negcorr.reading.feather_sizes import unpacked_sizes
    >>> stream = io.BytesIO()
    >>> table = pyarrow.table({"x": [0.0] * 1000})
    >>> pyarrow.feather.write_feather(table, stream, compression="zstd")
    >>> list(unpacked_sizes(stream.getvalue()))
    [8000]
    """
    import pyarrow
    import pyarrow.ipc

    behind = pyarrow.py_buffer(data).slice(_START)
    for message in pyarrow.ipc.MessageReader.open_stream(pyarrow.BufferReader(behind)):
        if message.type not in ("record batch", "dictionary"):
            continue
        table = memoryview(message.metadata)
        batch = _inside(table, _table_at(table, 0), _HEADER)
        if batch and message.type == "dictionary":
            batch = _inside(table, batch, _DATA)
        yield _unpacked(table, batch, memoryview(message.body)) if batch else 0


def _unpacked(table: memoryview, batch: int, body: memoryview) -> int:
    """The sum of the sizes that stand before the compressed buffers of a batch."""
    buffers = _field(table, batch, _BUFFERS)
    if not buffers or not _field(table, batch, _COMPRESSION):
        return len(body)
    start = buffers + _number(table, buffers, "<I")
    total = 0
    for k in range(_number(table, start, "<I")):
        offset, length = struct.unpack_from("<qq", table, start + 4 + 16 * k)
        # A size of -1 stands before bytes that are not compressed.
        total += max(_number(body, offset, "<q"), length) if length >= 8 else 0
    return total


def _table_at(table: memoryview, place: int) -> int:
    return place + _number(table, place, "<I")


def _inside(table: memoryview, at: int, number: int) -> int:
    """Where the table in a field begins; 0 where the field is not there."""
    place = _field(table, at, number)
    return _table_at(table, place) if place else 0


def _field(table: memoryview, at: int, number: int) -> int:
    """Where a field of a table is; 0 where it is not there."""
    places = at - _number(table, at, "<i")
    if 4 + 2 * number >= _number(table, places, "<H"):
        return 0
    offset = _number(table, places + 4 + 2 * number, "<H")
    return at + offset if offset else 0


def _number(table: memoryview, place: int, kind: str) -> int:
    return int(struct.unpack_from(kind, table, place)[0])
