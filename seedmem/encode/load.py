"""A name → its encoder: the one place that knows them all."""

from seedmem.encode.port import Encoder
from seedmem.encode.remote import RemoteOptions
from seedmem.errors import EncoderError
from seedmem.vectors import VectorSpace

NAMES = (
    "minilm, onnx:DIRECTORY, onnx:ORG/MODEL[@REVISION], st:DIRECTORY, st:ORG/MODEL[@REVISION], "
    "openai:MODEL[@URL], vertex:MODEL, given:DIMENSION, hash:DIMENSION"
)


def load_encoder(name: str, *, threads: int = 1, remote: RemoteOptions | None = None) -> Encoder:
    """Return the encoder that ``name`` names, loaded and tried.

    Args:
        name: one of ``NAMES``.
        threads: that one call of ``encode`` may use, at least 1.
        remote: keys, addresses and time-outs of ``openai:`` and ``vertex:``.

    Raises:
        EncoderError: the name is unknown, or the encoder cannot be loaded; says what to do.
    """
    if threads < 1:
        raise EncoderError(f"threads must be at least 1, got {threads}")
    kind, _, rest = name.partition(":")
    if kind in ("openai", "vertex") and rest:
        return _load_remote(kind, rest, remote or RemoteOptions())
    return _load_local(name, kind, rest, threads)


def _load_local(name: str, kind: str, rest: str, threads: int) -> Encoder:
    if name == "minilm":
        from seedmem.encode.onnx import load_minilm

        return load_minilm(threads=threads)
    if kind == "onnx" and rest:
        from seedmem.encode.onnx import load_onnx

        return load_onnx(rest, threads=threads)
    if kind == "st" and rest:
        from seedmem.encode.st import SentenceTransformersEncoder

        return SentenceTransformersEncoder(rest, threads=threads)
    if kind == "given":
        from seedmem.encode.given import GivenEncoder

        return GivenEncoder(VectorSpace("given", _dim(name, rest)))
    if kind == "hash":
        from seedmem.encode.hash import HashEncoder

        return HashEncoder(_dim(name, rest))
    raise EncoderError(f"unknown encoder {name!r}; known: {NAMES}")


def _load_remote(kind: str, rest: str, options: RemoteOptions) -> Encoder:
    if kind == "openai":
        from seedmem.encode.openai import load_openai

        return load_openai(rest, options)
    from seedmem.encode.vertex import load_vertex

    return load_vertex(rest, options)


def _dim(name: str, digits: str) -> int:
    kind = name.partition(":")[0]
    if not (digits.isascii() and digits.isdigit() and int(digits) > 0):
        raise EncoderError(f"encoder {name!r} needs its dimension, for example {kind}:384")
    return int(digits)
