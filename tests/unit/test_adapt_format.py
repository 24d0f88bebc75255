"""The stored form of an adapter: exact when right, refused on any doubt (field case F47)."""

import hashlib
import json
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest

from seedmem.adapt import Activation, Adapter, Lexicon, from_bytes, to_bytes
from seedmem.adapt.lexicon import shapes
from seedmem.errors import AdapterError, ShapeError
from seedmem.vectors import VectorSpace

SPACE = VectorSpace("hash", 8)


def _adapter(dim: int = 8, hidden: int = 4, **changes: object) -> Adapter:
    draw = np.random.default_rng(7).normal
    fields = {
        "space": VectorSpace("hash", dim),
        "version": 5,
        "alpha": 0.3,
        "w1": draw(size=(hidden, dim)),
        "b1": draw(size=hidden),
        "w2": draw(size=(dim, hidden)),
        "b2": draw(size=dim),
    }
    return Adapter(**(fields | changes))


def _lexicon(dim: int = 8, hidden: int = 3, words: int = 5, asked: int = 6) -> Lexicon:
    draw = np.random.default_rng(9).normal
    weights = {name: draw(size=s) for name, s in shapes(dim, hidden, asked, words).items()}
    hashes = np.arange(7, 7 + asked, dtype=np.uint32)
    return Lexicon(words=hashes[:words] * 3, asked=hashes, **weights)


def _forged(**changes: object) -> bytes:
    """An adapter whose header was edited and whose checksum was made right again."""
    raw = to_bytes(_adapter(), user_id="ada")
    (length,) = struct.unpack_from("<I", raw, 8)
    header = json.loads(raw[12 : 12 + length]) | changes
    text = json.dumps(header).encode()
    return _sealed(raw[:8] + struct.pack("<I", len(text)) + text + raw[12 + length : -16])


def _sealed(content: bytes) -> bytes:
    return content + hashlib.blake2b(content, digest_size=16).digest()


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('the file ran')",)


def _load(raw: bytes) -> Adapter:
    return from_bytes(raw, user_id="ada", space=SPACE, version=5)


@pytest.mark.parametrize("activation", list(Activation))
def test_a_stored_adapter_bends_exactly_as_before(activation: Activation):
    adapter = _adapter(activation=activation)
    queries = np.random.default_rng(3).normal(size=(6, 8)).astype(np.float32)

    loaded = _load(to_bytes(adapter, user_id="ada"))

    assert (loaded.version, loaded.alpha, loaded.activation) == (5, 0.3, activation)
    assert np.array_equal(loaded.apply(queries), adapter.apply(queries))


def test_the_identity_can_be_stored_too():
    raw = to_bytes(Adapter.identity(SPACE), user_id="ada")

    loaded = from_bytes(raw, user_id="ada", space=SPACE)

    assert (loaded.version, loaded.hidden) == (0, 0)


def test_f49_an_adapter_of_768_dimensions_takes_less_than_half_a_megabyte():
    raw = to_bytes(_adapter(dim=768, hidden=128), user_id="ada")

    parameters = 2 * 768 * 128 + 128 + 768
    assert 2 * parameters < len(raw) < 2 * parameters + 1_000
    assert len(raw) < 500_000


def test_the_file_names_no_user():
    assert b"ada" not in to_bytes(_adapter(), user_id="ada")


def test_every_flipped_byte_is_noticed():
    raw = to_bytes(_adapter(), user_id="ada")

    for place in range(len(raw)):
        damaged = bytearray(raw)
        damaged[place] ^= 0xFF
        with pytest.raises(AdapterError):
            _load(bytes(damaged))


def test_every_truncation_is_noticed():
    raw = to_bytes(_adapter(), user_id="ada")

    for length in range(len(raw)):
        with pytest.raises(AdapterError):
            _load(raw[:length])


def test_f47_a_pickle_is_refused_and_does_not_run():
    with pytest.raises(AdapterError, match="want b'SEEDADPT'"):
        _load(pickle.dumps(_Evil()))


def test_an_adapter_of_another_user_is_refused():
    with pytest.raises(AdapterError, match="adapter user: got"):
        _load(to_bytes(_adapter(), user_id="eve"))


def test_an_adapter_of_another_dimension_is_refused():
    with pytest.raises(AdapterError, match="adapter dim: got 16, want 8"):
        _load(to_bytes(_adapter(dim=16), user_id="ada"))


def test_an_adapter_of_another_encoder_is_refused():
    with pytest.raises(AdapterError, match="adapter encoder: got 'hash', want 'minilm'"):
        from_bytes(
            to_bytes(_adapter(), user_id="ada"), user_id="ada", space=VectorSpace("minilm", 8)
        )


def test_a_stale_version_is_refused():
    with pytest.raises(AdapterError, match="adapter version: got 5, want 6"):
        from_bytes(to_bytes(_adapter(), user_id="ada"), user_id="ada", space=SPACE, version=6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", 1),
        ("dtype", "<f8"),
        ("hidden", 5),
        ("hidden", -1),
        ("hidden", 10**12),
        ("hidden", True),
        ("hidden", "4"),
        ("hidden", None),
        ("alpha", float("nan")),
        ("alpha", "0.3"),
        ("alpha", 10**400),
        ("activation", "relu"),
        ("activation", None),
    ],
)
def test_a_forged_header_is_refused(field: str, value: object):
    with pytest.raises(AdapterError, match=f"adapter {field}|adapter weights"):
        _load(_forged(**{field: value}))


@pytest.mark.parametrize(
    "header", [b"[1]", b"{", b"\xff", b"[" * 100_000], ids=["list", "cut", "bytes", "deep"]
)
def test_a_header_that_is_no_object_is_refused(header: bytes):
    raw = _sealed(b"SEEDADPT" + struct.pack("<I", len(header)) + header)

    with pytest.raises(AdapterError, match="adapter header"):
        _load(raw)


def test_weights_that_are_not_finite_are_refused():
    raw = to_bytes(_adapter(), user_id="ada")
    content = raw[:-18] + np.array([np.inf], dtype="<f2").tobytes()  # the last component of b2

    with pytest.raises(AdapterError, match="b2: 1 of 8 weights not finite"):
        _load(_sealed(content))


def test_a_stored_lexicon_favours_exactly_as_before():
    lexicon = _lexicon()
    query, terms = np.full(8, 8**-0.5, np.float32), np.array([7, 9, 9, 1000], np.uint32)

    loaded = _load(to_bytes(_adapter(lexicon=lexicon), user_id="ada")).lexicon

    assert loaded is not None
    assert loaded.favours(query, terms).tobytes() == lexicon.favours(query, terms).tobytes()


@pytest.mark.parametrize(
    "sizes",
    [
        3,
        "3",
        {},
        {"hidden": 3, "asked": 6},
        {"hidden": 3, "asked": -6, "words": 5},
        {"hidden": 3, "asked": 6, "words": 5},
    ],
)
def test_a_forged_lexicon_is_refused(sizes: object):
    with pytest.raises(AdapterError, match=r"adapter (lexicon|asked|words|hidden|weights)"):
        _load(_forged(lexicon=sizes))


def test_a_lexicon_whose_words_are_not_in_order_is_refused():
    lexicon = _lexicon()

    with pytest.raises(AdapterError, match="ascending order"):
        replace(lexicon, words=lexicon.words[::-1].copy())


def test_a_lexicon_of_another_dimension_is_refused():
    with pytest.raises(ShapeError, match="lexicon"):
        _adapter(lexicon=_lexicon(dim=7))
