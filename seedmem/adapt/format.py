"""The stored form of an adapter: plain numbers, nothing that runs.

Layout: magic (8 bytes), length of the header (uint32), header (JSON), the
weights ``w1 b1 w2 b2`` (float16), BLAKE2b of all that (16 bytes). Numbers are
little-endian. An adapter of d = 768, h = 128 takes 396 KB.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt.adapter import Activation, Adapter, shapes
from seedmem.errors import AdapterError
from seedmem.vectors import VectorSpace

_MAGIC = b"SEEDADPT"
_FORMAT = 1
_DTYPE = "<f2"
_LENGTH = struct.Struct("<I")
_CHECKSUM_BYTES = 16
_SMALLEST = len(_MAGIC) + _LENGTH.size + _CHECKSUM_BYTES


def to_bytes(adapter: Adapter, *, user_id: str) -> bytes:
    """Return the stored form of ``adapter``, bound to the user that it was fitted for."""
    header = {
        **_identity(user_id, adapter.space),
        "version": adapter.version,
        "alpha": float(adapter.alpha),
        "activation": str(adapter.activation),
        "hidden": adapter.hidden,
    }
    text = json.dumps(header, sort_keys=True).encode()
    weights = (getattr(adapter, name) for name in shapes(adapter.space.dim, adapter.hidden))
    body = b"".join(weight.astype(_DTYPE).tobytes() for weight in weights)
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
    layout = shapes(space.dim, _count(header, "hidden"))
    size = sum(math.prod(shape) for shape in layout.values()) * np.dtype(_DTYPE).itemsize
    if len(body) != size:
        raise AdapterError(f"adapter weights: got {len(body)} bytes, want {size}")
    w1, b1, w2, b2 = _weights(body, list(layout.values()))
    return Adapter(
        space=space,
        version=_count(header, "version"),
        alpha=_alpha(header),
        activation=_activation(header),
        w1=w1,
        b1=b1,
        w2=w2,
        b2=b2,
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


def _weights(body: bytes, layout: Sequence[tuple[int, ...]]) -> list[NDArray[np.float32]]:
    """Return the arrays in ``body``, which has exactly the bytes that ``layout`` needs."""
    ends = np.cumsum([math.prod(shape) for shape in layout])
    flat = np.frombuffer(body, dtype=_DTYPE).astype(np.float32)
    parts = np.split(flat, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, layout, strict=True)]


def _checksum(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_CHECKSUM_BYTES).digest()
