"""What a forger, a bad disk or a careless program makes of the file of a model."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from forging import resealed
from sklearn.linear_model import Ridge

from negcorr.storage.allowlist import IDS
from negcorr.storage.model_files import ENVELOPE, SCHEMA

__all__ = ["CRAFTS", "Craft"]

Members = dict[str, bytes]
Make = Callable[[np.random.Generator, bytes, Members, Path], bytes]


@dataclass(frozen=True)
class Craft:
    """A way to make a file out of a valid one.

    Attributes
    ----------
    make : callable
        Takes a generator, the bytes and the members of the valid file, and a path that nothing may
        create; returns bytes.
    share : float
        How often it is tried, beside the others.
    forged : bool
        Whether the checksum is right: the numbers may be others then.
    refused : bool
        Whether no such file may load.
    """

    make: Make
    share: float = 1.0
    forged: bool = False
    refused: bool = False


def zipped(members: Members, packed: tuple[str, ...] = (SCHEMA, ENVELOPE)) -> bytes:
    """A zip of members, of which some are packed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in members.items():
            method = zipfile.ZIP_DEFLATED if name in packed else zipfile.ZIP_STORED
            file.writestr(name, data, compress_type=method)
    return out.getvalue()


def arrays_in(members: Members) -> list[str]:
    """Names of members that are neither of the two texts."""
    return sorted(set(members) - {SCHEMA, ENVELOPE})


# ------------------------------------------------------------------------------------------
# Damage that nobody has sealed again


def flipped(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Some bytes, or some bytes in a row, are others."""
    damaged = bytearray(data)
    for at in rng.integers(len(data), size=int(rng.integers(1, 5))):
        damaged[at] = int(rng.integers(256))
    if rng.random() < 0.3:
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 4096))
        damaged[at : at + length] = rng.bytes(len(damaged[at : at + length]))
    return bytes(damaged)


def cut(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """A piece is missing at an end or in the middle, or doubled, or zeroed."""
    a, b = sorted(rng.integers(len(data), size=2).tolist())
    other = [data[:b], data[a:], data[:a] + data[b:], data[:b] + data[a:]]
    return [*other, data[:a] + bytes(b - a) + data[b:]][rng.integers(5)]


def surrounded(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Something stands before or behind the file."""
    more = rng.bytes(int(rng.integers(1, 2000)))
    return more + data if rng.random() < 0.5 else data + more


def rearranged(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Members are swapped, missing, doubled under other names, or cut; the checksum is old."""
    held, names = dict(members), sorted(members)
    one, other = (str(name) for name in rng.choice(names, size=2, replace=False))
    what = rng.integers(5)
    if what == 0:
        held[one], held[other] = held[other], held[one]
    elif what == 1:
        del held[one]
    elif what == 2:
        held["more.npy"] = held[one]
    elif what == 3:
        held[one] = held[one][: int(rng.integers(len(held[one])))]
    else:
        held[f"../{one}"] = held.pop(one)
    if held[one] == held[other] == members[one] if one in held and other in held else False:
        del held[one]  # the two were equal
    return zipped(held)


def edited(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """One character of a text is another; the checksum is old."""
    name = str(rng.choice([SCHEMA, ENVELOPE]))
    text = bytearray(members[name])
    at = int(rng.integers(len(text)))
    text[at] = (text[at] + int(rng.integers(1, 255))) % 256
    return zipped(members | {name: bytes(text)})


# ------------------------------------------------------------------------------------------
# Forgeries: the checksum is right

#: What may stand in the place of any part of a text.
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 3, 2.5, 10**30, -(10**30), 1e308, float("nan"), float("inf")),
    *("", "x", "nan", "𝄞\x00\n=1+1", "9" * 5000, [], {}, [[]], {"": {}}, ["a", 1, None]),
)


def _places(text: Any) -> list[tuple[Any, Any]]:
    """All containers in a text with all their keys."""
    found, left = [], [text]
    while left:
        part = left.pop()
        keys = part if isinstance(part, dict) else range(len(part))
        for key in list(keys):
            found.append((part, key))
            if isinstance(part[key], dict | list):
                left.append(part[key])
    return found


def odd_values(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Values that a model stores as text are others: numbers, words, lengths."""
    schema = json.loads(members[SCHEMA])
    places = [
        (part, key)
        for part, key in _places(schema)
        if key == "content" and isinstance(part[key], str)
    ]
    for at in rng.integers(len(places), size=int(rng.integers(1, 3))):
        part, key = places[at]
        part[key] = json.dumps(ODD[rng.integers(len(ODD))])
    return zipped(resealed(members | {SCHEMA: json.dumps(schema).encode()}))


def odd_parts(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Parts of the description are missing, doubled, others, or stand elsewhere."""
    schema = json.loads(members[SCHEMA])
    for _ in range(int(rng.integers(1, 4))):
        places = _places(schema)
        if not places:
            break
        part, key = places[rng.integers(len(places))]
        other, name = places[rng.integers(len(places))]
        what = rng.integers(6)
        if what == 0:
            del part[key]
        elif what == 1:
            part[key] = ODD[rng.integers(len(ODD))]
        elif what == 2:
            part[key] = _copy(other[name])
        elif what == 3 and isinstance(part, dict):
            part[f"{key}{rng.integers(10)}"] = part.pop(key)
        elif what == 4 and isinstance(part, list):
            part.insert(key, _copy(other[name]))
        else:
            part[key] = deep(int(rng.choice([50, 150, 400])))
    return zipped(resealed(members | {SCHEMA: json.dumps(schema).encode()}))


def _copy(part: Any) -> Any:
    return json.loads(json.dumps(part))


def deep(depth: int) -> Any:
    """Lists within lists."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def odd_types(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """A part is of another class, is built in another way, or is another part again."""
    schema = json.loads(members[SCHEMA])
    nodes = [part for part, key in _places(schema) if key == "__class__"]
    part, other = (nodes[i] for i in rng.integers(len(nodes), size=2))
    what = rng.integers(5)
    if what == 0:
        part["__module__"], part["__class__"] = "negcorr", str(rng.choice(list(IDS)))
    elif what == 1:
        part["__module__"], part["__class__"] = other["__module__"], other["__class__"]
    elif what == 2:
        part["__loader__"] = other["__loader__"]
    elif what == 3:
        part["__id__"] = other["__id__"]
    else:
        names = ("sklearn.linear_model._ridge", "Ridge", "ObjectNode")
        part["__module__"], part["__class__"], part["__loader__"] = names
    return zipped(resealed(members | {SCHEMA: json.dumps(schema).encode()}))


def odd_envelope(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """What the file says about itself and its table is other than it should be."""
    envelope = json.loads(members[ENVELOPE])
    odd = ODD[rng.integers(len(ODD))]
    what = rng.integers(4)
    if what == 0:
        envelope[str(rng.choice(list(envelope)))] = odd
    elif what == 1:
        envelope["notes"] |= {str(rng.choice(["schema", "fingerprint", "data", "verdict"])): odd}
    elif what == 2:
        schema = json.loads(envelope["notes"].get("schema", '{"n_rows": 3, "columns": [{}]}'))
        places = _places(schema)
        part, key = places[rng.integers(len(places))]
        part[key] = odd
        envelope["notes"]["schema"] = json.dumps(schema)
    else:
        envelope["notes"]["fingerprint"] = {"n_rows": odd, "smallest": [odd]}
    return zipped(resealed(members | {ENVELOPE: json.dumps(envelope).encode()}))


def _saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def _of_another_kind(rng: np.random.Generator, array: Any) -> Any:
    """An array of another type or shape."""
    what = rng.integers(9)
    if what == 0:
        kinds: tuple[Any, ...] = ("f4", "f8", "i8", "u8", "i1", "?", "c16", "U4", ">f8", "f2")
        with np.errstate(all="ignore"):
            try:
                return np.asarray(array).astype(kinds[rng.integers(len(kinds))])
            except (TypeError, ValueError):
                return np.zeros(array.shape, "c16")
    if what == 1:
        return array[..., np.newaxis]
    if what == 2:
        return array.ravel()[: int(rng.integers(array.size + 1))]
    if what == 3:
        return np.asfortranarray(array.T)
    if what == 4:
        return array.reshape(-1)
    if what == 5:
        return np.concatenate([array.ravel(), array.ravel()])
    if what == 6:
        return np.zeros((0, *array.shape))
    if what == 7:
        return array.ravel()[0] if array.size else np.float64(3.0)
    return np.array([{"a": 1}, os_system], dtype=object)


def os_system() -> None:
    """What a pickle in an array would name."""


def _of_other_values(rng: np.random.Generator, array: Any) -> Any:
    """An array of the same type and shape with some other values."""
    found = np.array(array)
    if not found.size:
        return found
    flat = found.reshape(-1)
    at = rng.integers(flat.size, size=int(rng.integers(1, 4)))
    if found.dtype.kind == "f":
        flat[at] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-30, 1e30, 7.5])
    elif found.dtype.kind in "iu":
        most = np.iinfo(found.dtype)
        flat[at] = rng.choice(np.array([0, 1, 99, 10**6, most.max], dtype=found.dtype))
        if found.dtype.kind == "i" and rng.random() < 0.3:
            flat[at] = -1
    elif found.dtype.kind == "b":
        flat[at] = ~flat[at]
    elif found.dtype.names:
        field = str(rng.choice(found.dtype.names))
        flat[field][at] = rng.choice([-1, 0, 1, 5, 10**6])
    return found


def odd_arrays(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """An array is of another type, another shape or other values."""
    names = [name for name in arrays_in(members) if name.endswith(".npy")]
    held = dict(members)
    for name in rng.choice(names, size=int(rng.integers(1, 3))).tolist():
        array = np.load(io.BytesIO(members[name]))
        make = _of_other_values if rng.random() < 0.5 else _of_another_kind
        held[name] = _saved(make(rng, array))
    return zipped(resealed(held))


def odd_headers(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """An array says that it is larger than it is, or of something else."""
    name = str(rng.choice(arrays_in(members)))
    out = io.BytesIO()
    shapes = ((10**12,), (2**40, 2**40), (-1,), (10**9, 0), (1,) * 64, (10**7, 10))
    kinds = ("<f8", "|S0", "|V0", "|V1000000000", "<U1000000000", "|O", "<i8")
    header = {
        "descr": kinds[rng.integers(len(kinds))],
        "fortran_order": bool(rng.integers(2)),
        "shape": shapes[rng.integers(len(shapes))],
    }
    np.lib.format.write_array_header_2_0(out, header)
    held = members | {name: out.getvalue() + bytes(int(rng.choice([0, 8, 800])))}
    return zipped(resealed(held))


def crossed(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Two arrays stand in each other's place."""
    held = dict(members)
    one, other = (str(n) for n in rng.choice(arrays_in(members), size=2, replace=False))
    held[one], held[other] = held[other], held[one]
    return zipped(resealed(held))


# ------------------------------------------------------------------------------------------
# Little that asks for much, and files that are something else


def _json_node(content: Any) -> dict[str, Any]:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(content),
    }


def _list_node(*content: Any, **more: Any) -> dict[str, Any]:
    kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    return kind | {"content": list(content)} | more


def growing(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """A few bytes that unpack, or expand, to very many."""
    what = rng.integers(6)
    schema = json.loads(members[SCHEMA])
    held = schema["content"]["content"]
    key = next(iter(held))
    if what == 0:
        # One text of 40 MB.
        wide = json.dumps(_json_node(1))
        text = json.dumps(schema)[:-1] + ', "more": [' + ",".join([wide] * 400_000) + "]}"
        return zipped(members | {SCHEMA: text.encode()})
    if what == 1:
        # Lists of ten times the same list, twenty times over.
        node = _list_node(_json_node(1), __id__=1)
        for k in range(2, 22):
            node = _list_node(node, *({"__id__": k - 1} for _ in range(9)), __id__=k)
        held[key] = node
    elif what == 2:
        # One array that is read for each of many names.
        name = next(name for name in arrays_in(members) if name.endswith(".npy"))
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
        reads = [array | {"type": "numpy", "file": name, "__id__": 10**9 + k} for k in range(20000)]
        held[key] = _list_node(*reads)
    elif what == 3:
        # A list that holds itself.
        held[key] = _list_node({"__id__": 5}, _json_node(1), __id__=5)
    elif what == 4:
        # A sparse matrix that is packed a thousand times.
        out, zeros = io.BytesIO(), io.BytesIO()
        np.save(zeros, np.zeros(10**7, dtype="i1"))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for name in ("data", "indices", "indptr", "more", "most", "last", "format"):
                file.writestr(f"{name}.npy", zeros.getvalue())
        matrix = {"__class__": "csr_array", "__module__": "scipy.sparse._csr"}
        read = {"__loader__": "SparseMatrixNode", "type": "scipy", "file": "b.npz", "__id__": 3}
        held[key] = matrix | read
        members = members | {"b.npz": out.getvalue()}
    else:
        held[key] = _json_node(1) | {"content": "[" * 100_000 + "]" * 100_000}
    return zipped(resealed(members | {SCHEMA: json.dumps(schema).encode()}))


def zip_tricks(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Zip files that are not what they seem."""
    what = rng.integers(8)
    out = io.BytesIO()
    if what == 0:  # two members of one name
        name, content = list(members.items())[rng.integers(len(members))]
        twice = zipped(members | {"twice.npy": content[::-1]})
        return twice.replace(b"twice.npy", name.encode()[:9].ljust(9, b"_"))
    if what == 1:  # names that point elsewhere
        odd = ("../../etc/passwd", "/x.npy", "C:\\x.npy", "a/../b.npy", "x\x00.npy")
        return zipped(members | {odd[rng.integers(len(odd))]: b"x"})
    if what == 2:  # other methods
        method = int(rng.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED]))
        with zipfile.ZipFile(out, "w", method) as file:
            for name, content in members.items():
                file.writestr(name, content)
        return out.getvalue()
    if what == 3:  # very many members
        return zipped(members | {f"{k}.npy": b"" for k in range(5000)})
    if what == 4:  # the whole file within itself
        return zipped(members | {"model.npy": data})
    damaged = bytearray(data)
    entries = [at for at in range(len(data) - 4) if data[at : at + 4] == b"PK\x01\x02"]
    at = entries[rng.integers(len(entries))]
    if what == 5:  # encrypted, or of an unknown method
        field = int(rng.choice([8, 10]))
        damaged[at + field] |= 1 if field == 8 else 77
    elif what == 6:  # sizes that cannot be
        struct.pack_into("<II", damaged, at + 20, *rng.choice([0, 1, 2**31, 2**32 - 2], size=2))
    else:  # members that lie on top of one another
        struct.pack_into("<I", damaged, at + 42, 0)
    return bytes(damaged)


class _Payload:
    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        import os

        return os.system, (self.command,)


def foreign_code(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Parts that would run a command if anybody built them."""
    command = f"touch '{witness}'"
    call = {
        "__class__": "tuple",
        "__module__": "builtins",
        "__loader__": "TupleNode",
        "content": [_json_node(command)],
    }
    module, name = (("os", "system"), ("builtins", "exec"), ("subprocess", "getoutput"))[
        rng.integers(3)
    ]
    target = {"__module__": module, "__class__": name}
    empty = {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {},
        "key_types": _list_node(),
    }
    function = target | {"__loader__": "FunctionNode"}
    planted = [
        target | {"__loader__": "ConstructorFromReduceNode", "content": call},
        target | {"__loader__": "LossNode", "__reduce__": {"args": call}, "content": empty},
        target | {"__loader__": "ListNode", "content": [_json_node(command)]},
        target | {"__loader__": "TypeNode"},
        {
            "__module__": "functools",
            "__class__": "partial",
            "__loader__": "PartialNode",
            "content": {"func": function, "args": call, "kwds": empty, "namespace": empty},
        },
        empty
        | {
            "content": {command: _json_node(1)},
            "key_types": _list_node(target | {"__loader__": "TypeNode"}),
        },
        {
            "__module__": "numpy",
            "__class__": "ndarray",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": "planted.npy",
            "__id__": 77,
        },
    ]
    schema = json.loads(members[SCHEMA])
    places = [(p, k) for p, k in _places(schema) if isinstance(p[k], dict) and "__class__" in p[k]]
    part, key = places[rng.integers(len(places))]
    part[key] = planted[rng.integers(len(planted))]
    array = _saved(np.array([_Payload(command)], dtype=object))
    pickled = {"planted.npy": array, "planted.pkl": pickle.dumps(_Payload(command))}
    return zipped(resealed(members | pickled | {SCHEMA: json.dumps(schema).encode()}))


def other_files(rng: np.random.Generator, data: bytes, members: Members, witness: Path) -> bytes:
    """Files of other kinds under the name of a model."""
    harm = _Payload(f"touch '{witness}'")
    kinds = [
        b"",
        b"\x00" * 1000,
        rng.bytes(5000),
        pickle.dumps(harm, protocol=int(rng.integers(0, 6))),
        skops.io.dumps(Ridge()),
        b"a,b\n1,2\n",
        json.dumps({"format": 3}).encode(),
        zipped({"model.pkl": pickle.dumps(harm)}),
        (8).to_bytes(8, "little") + b'{"a":{}}',
        b"\x89PNG\r\n\x1a\n" + rng.bytes(100),
        b"PK\x05\x06" + bytes(18),
        zipped({ENVELOPE: members[ENVELOPE]}),
        zipped({ENVELOPE: b"[" * 10**6}),
    ]
    return kinds[rng.integers(len(kinds))]


#: All crafts by the name under which their cases are counted.
CRAFTS = {
    "bytes flipped": Craft(flipped, 2.0),
    "cut, doubled or zeroed": Craft(cut),
    "something around it": Craft(surrounded, 0.5),
    "members rearranged": Craft(rearranged, refused=True),
    "a text edited": Craft(edited, refused=True),
    "forged: values": Craft(odd_values, 3.0, forged=True),
    "forged: parts": Craft(odd_parts, 3.0, forged=True),
    "forged: classes": Craft(odd_types, 2.0, forged=True),
    "forged: envelope": Craft(odd_envelope, 2.0, forged=True),
    "forged: arrays": Craft(odd_arrays, 4.0, forged=True),
    "forged: headers of arrays": Craft(odd_headers, forged=True),
    "forged: arrays swapped": Craft(crossed, forged=True),
    "little that asks for much": Craft(growing, 0.7, refused=True),
    "tricks of zip files": Craft(zip_tricks),
    "foreign code": Craft(foreign_code, forged=True),
    "another kind of file": Craft(other_files, 0.7, refused=True),
}
