"""The encoders that need no network: the installed model, given vectors, the test encoder."""

import threading

import numpy as np
import pytest

from seedmem.encode import Encoder, load_encoder
from seedmem.errors import EncoderError

NOTHING = ["", "   ", "\n\t", "\u200b\u200d\ufeff", "\x00", "\u2003"]


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder("minilm")


def cosine(encoder: Encoder, one: str, other: str) -> float:
    a, b = encoder.encode([one, other])
    return float(a @ b)


def test_the_default_model_has_384_dimensions_and_names_its_revision(minilm: Encoder) -> None:
    assert minilm.space.dim == 384
    assert minilm.space.encoder == "all-MiniLM-L6-v2-onnx-int8@8199be6f699a"


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("I adopted a puppy last week", "She has a new dog", "The invoice is overdue"),
        ("Where did we go on holiday?", "our trip to Lisbon", "the compiler prints a warning"),
        ("He is afraid of flying", "planes scare him", "the soup needs more salt"),
    ],
)
def test_a_text_is_nearer_to_its_paraphrase_than_to_another_topic(
    minilm: Encoder, text: str, near: str, far: str
) -> None:
    assert cosine(minilm, text, near) > cosine(minilm, text, far) + 0.15


def test_a_batch_gives_what_single_texts_give_in_their_order(minilm: Encoder) -> None:
    texts = [
        "short",
        "a " * 400,
        "Is this one of middling length, would you say?",
        "🎂",
        "短い文",
    ] * 9

    together = minilm.encode(texts)

    alone = np.vstack([minilm.encode([text]) for text in texts])
    assert together.shape == (45, 384)
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_every_vector_is_finite_and_of_unit_length(minilm: Encoder) -> None:
    hard = [
        "🎂🎉",
        "我喜欢吃寿司",
        "مرحبا بالعالم",
        "x" * 100_000,
        "word " * 20_000,
        "e\u0301",
        "\ud83d!",
    ]

    vectors = minilm.encode(hard)

    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_what_follows_the_256th_token_changes_nothing(minilm: Encoder) -> None:
    long = "tea " * 300

    assert cosine(minilm, long, long + "and then the volcano erupted") == pytest.approx(1, abs=1e-5)


def test_no_text_gives_no_row(minilm: Encoder) -> None:
    assert minilm.encode([]).shape == (0, 384)


def test_threads_that_encode_at_once_get_their_own_answers(minilm: Encoder) -> None:
    texts = [f"memory number {number} about {'rain ' * number}" for number in range(8)]
    expected = [minilm.encode([text])[0] for text in texts]
    found: dict[int, np.ndarray] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = minilm.encode([texts[number]])[0]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)

    for number in range(8):
        np.testing.assert_allclose(found[number], expected[number], atol=1e-5)


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_blank_text_is_refused_and_named_by_its_position(minilm: Encoder, nothing: str) -> None:
    for encoder in (minilm, load_encoder("hash:16")):
        with pytest.raises(EncoderError, match="text 1 of 2 is blank"):
            encoder.encode(["fine", nothing])


def test_given_vectors_are_never_made_here() -> None:
    encoder = load_encoder("given:768")

    assert (encoder.space.encoder, encoder.space.dim) == ("given", 768)
    with pytest.raises(EncoderError, match="must carry `vector`"):
        encoder.encode(["a text"])


def test_the_test_encoder_puts_texts_with_common_words_near() -> None:
    encoder = load_encoder("hash:256")

    shared = cosine(encoder, "she adopted a puppy", "adopting puppies")
    foreign = cosine(encoder, "she adopted a puppy", "quarterly tax form")

    assert shared > 0.3
    assert abs(foreign) < 0.2


def test_the_test_encoder_gives_the_same_vector_on_every_machine() -> None:
    vector = load_encoder("hash:4").encode(["Ada"])[0]

    # bytes of shake_128 of <ada>, <ad, ada and da>, each minus 127.5, summed, scaled by hand
    np.testing.assert_allclose(vector, [0.590866, 0.400476, 0.695909, -0.078782], atol=1e-6)


@pytest.mark.parametrize("text", ["🎂", "...", "寿司", "\ud800"])
def test_the_test_encoder_takes_every_script(text: str) -> None:
    vector = load_encoder("hash:8").encode([text])[0]

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "name",
    ["", "minilm2", "minilm:x", "onnx:", "st:", "hash:", "hash:0", "given:-3", "hash:٣", "openai:"],
)
def test_a_name_that_names_no_encoder_says_what_is_known(name: str) -> None:
    with pytest.raises(EncoderError, match=r"known: minilm|needs its dimension"):
        load_encoder(name)


def test_no_thread_at_all_is_refused() -> None:
    with pytest.raises(EncoderError, match="at least 1, got 0"):
        load_encoder("minilm", threads=0)
