"""The stored form of an adapter: plain numbers, nothing that runs.

Layout: magic (8 bytes), length of the header (uint32), header (JSON), the
weights ``w1 b1 w2 b2`` (float16), those of the lexicon if there is one, its
``words`` and ``asked`` (uint32), BLAKE2b of all that (16 bytes). Numbers are
little-endian. An adapter of d = 768, h = 128 takes 396 KB.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import lexicon as lexicons
from seedmem.adapt.adapter import Activation, Adapter, shapes
from seedmem.adapt.lexicon import Lexicon
from seedmem.errors import AdapterError
from seedmem.vectors import VectorSpace

_MAGIC = b"SEEDADPT"
_FORMAT = 2
_DTYPE, _HASH = "<f2", "<u4"
_LENGTH = struct.Struct("<I")
_CHECKSUM_BYTES = 16
_SMALLEST = len(_MAGIC) + _LENGTH.size + _CHECKSUM_BYTES


def to_bytes(adapter: Adapter, *, user_id: str) -> bytes:
    """Return the stored form of ``adapter``, bound to the user that it was fitted for."""
    lexicon = adapter.lexicon
    header = {
        **_identity(user_id, adapter.space),
        "version": adapter.version,
        "alpha": float(adapter.alpha),
        "activation": str(adapter.activation),
        "hidden": adapter.hidden,
        "lexicon": None if lexicon is None else _sizes(lexicon),
    }
    text = json.dumps(header, sort_keys=True).encode()
    weights = [getattr(adapter, name) for name in shapes(adapter.space.dim, adapter.hidden)]
    body = b"".join(weight.astype(_DTYPE).tobytes() for weight in weights)
    body += b"" if lexicon is None else _lexicon_bytes(lexicon)
    raw = _MAGIC + _LENGTH.pack(len(text)) + text + body
    return raw + _checksum(raw)


def from_bytes(
    raw: bytes, *, user_id: str, space: VectorSpace, version: int | None = None
) -> Adapter:
    """Return the adapter that ``raw`` holds, if it is whole and this user's in this space.

    Args:
        raw: what ``to_bytes`` made.
        user_id: whose queries it shall bend.
        space: what the running encoder makes.
        version: the version that was promoted; None takes any.

    Raises:
        AdapterError: any doubt. It names what was found and what was wanted.
    """
    header, body = _split(raw)
    want = _identity(user_id, space) | ({} if version is None else {"version": version})
    for name, value in want.items():
        if header.get(name) != value:
            raise AdapterError(f"adapter {name}: got {header.get(name)!r:.100}, want {value!r}")
    arrays = _arrays(body, _layout(header, space.dim))
    named = {name: arrays.pop(name) for name in ("w1", "b1", "w2", "b2")}
    return Adapter(
        space=space,
        version=_count(header, "version"),
        alpha=_alpha(header),
        activation=_activation(header),
        lexicon=Lexicon(**arrays) if arrays else None,
        **named,
    )


def _identity(user_id: str, space: VectorSpace) -> dict[str, object]:
    """Return the part of the header that says whose adapter this is and what it fits."""
    return {
        "format": _FORMAT,
        "user": hashlib.blake2b(user_id.encode(), digest_size=16).hexdigest(),
        "encoder": space.encoder,
        "dim": space.dim,
        "dtype": _DTYPE,
    }


def _split(raw: bytes) -> tuple[dict[str, object], bytes]:
    """Return the header and the bytes of the weights, once magic and checksum are right."""
    if len(raw) < _SMALLEST:
        raise AdapterError(f"adapter: got {len(raw)} bytes, want at least {_SMALLEST}")
    if not raw.startswith(_MAGIC):
        raise AdapterError(f"adapter: begins with {raw[: len(_MAGIC)]!r}, want {_MAGIC!r}")
    content, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    if _checksum(content) != checksum:
        got, want = checksum.hex(), _checksum(content).hex()
        raise AdapterError(f"adapter checksum: got {got}, want {want}: damaged or cut off")
    start = len(_MAGIC) + _LENGTH.size
    end = start + _LENGTH.unpack_from(content, len(_MAGIC))[0]
    try:
        header = json.loads(content[start:end])
    except (ValueError, RecursionError) as error:
        raise AdapterError(f"adapter header: not JSON: {error}") from error
    if not isinstance(header, dict):
        raise AdapterError(f"adapter header: got {type(header).__name__}, want an object")
    return header, content[end:]


def _count(header: Mapping[str, object], name: str) -> int:
    value = header.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise AdapterError(f"adapter {name}: got {value!r:.100}, want a whole number, 0 or more")
    return value


def _alpha(header: Mapping[str, object]) -> float:
    value = header.get("alpha")
    if not isinstance(value, float):
        raise AdapterError(f"adapter alpha: got {value!r:.100}, want a number with a point")
    return value


def _activation(header: Mapping[str, object]) -> Activation:
    try:
        return Activation(str(header.get("activation")))
    except ValueError:
        want = ", ".join(Activation)
        got = header.get("activation")
        raise AdapterError(f"adapter activation: got {got!r:.100}, want one of {want}") from None


def _sizes(lexicon: Lexicon) -> dict[str, int]:
    return {
        "hidden": len(lexicon.query_bias),
        "asked": len(lexicon.asked),
        "words": len(lexicon.words),
    }


def _lexicon_bytes(lexicon: Lexicon) -> bytes:
    weights = [getattr(lexicon, name) for name in lexicons.shapes(0, 0, 0, 0)]
    hashes = [lexicon.words, lexicon.asked]
    return b"".join(
        [
            *(w.astype(_DTYPE).tobytes() for w in weights),
            *(h.astype(_HASH).tobytes() for h in hashes),
        ]
    )


def _layout(header: Mapping[str, object], dim: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the type and shape of each array of the body, in order."""
    weights = shapes(dim, _count(header, "hidden"))
    layout = {name: (_DTYPE, shape) for name, shape in weights.items()}
    sizes = header.get("lexicon")
    if sizes is None:
        return layout
    if not isinstance(sizes, dict):
        raise AdapterError(f"adapter lexicon: got {sizes!r:.100}, want an object or null")
    hidden, asked, words = (_count(sizes, name) for name in ("hidden", "asked", "words"))
    more = lexicons.shapes(dim, hidden, asked, words)
    layout |= {name: (_DTYPE, shape) for name, shape in more.items()}
    return layout | {"words": (_HASH, (words,)), "asked": (_HASH, (asked,))}


def _arrays(
    body: bytes, layout: Mapping[str, tuple[str, tuple[int, ...]]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays in ``body``, which must have exactly the bytes that ``layout`` needs."""
    sizes = [math.prod(shape) * np.dtype(kind).itemsize for kind, shape in layout.values()]
    if len(body) != sum(sizes):
        raise AdapterError(f"adapter weights: got {len(body)} bytes, want {sum(sizes)}")
    starts = np.cumsum([0, *sizes]).tolist()
    return {
        name: np.frombuffer(body, kind, math.prod(shape), start).reshape(shape)
        for (name, (kind, shape)), start in zip(layout.items(), starts, strict=False)
    }


def _checksum(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_CHECKSUM_BYTES).digest()
