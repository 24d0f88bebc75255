"""Where a model's files are: a local directory, or a snapshot of a model hub in its cache."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedmem.errors import EncoderError


@dataclass(frozen=True, slots=True)
class Found:
    """A model on disk."""

    directory: Path
    name: str
    """With the revision: the hub's commit, or for a local directory a hash of its files."""


def resolve(where: str, *, wanted: Sequence[str]) -> Found:
    """Return the model at ``where``: a directory, or ``ORG/MODEL[@REVISION]`` of the hub.

    Args:
        where: a directory that exists is one; all else is a hub id. A revision is a commit,
            tag or branch; without one, the newest that can be had.
        wanted: patterns of the files to download, and to hash in a directory.

    Raises:
        EncoderError: no such model here, and the hub cannot be asked or has none.
    """
    directory = Path(where).expanduser()
    if directory.is_dir():
        files = sorted({path for pattern in wanted for path in directory.glob(pattern)})
        return Found(directory, f"{directory.resolve().name}@{_digest(directory, files)}")
    repository, _, revision = where.partition("@")
    snapshot = _download(repository, revision or None, wanted)
    return Found(snapshot, f"{repository}@{snapshot.name[:12]}")


def _download(repository: str, revision: str | None, wanted: Sequence[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise EncoderError(
            f"{repository} is not a directory, and asking the model hub needs the extra `hub`: "
            "pip install 'seedmem[hub]'"
        ) from error
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=list(wanted)))
    except (OSError, ValueError) as error:  # what the hub's own errors derive from
        raise EncoderError(
            f"{repository}@{revision or 'newest'} is not a directory, not in the local cache, and "
            f"the model hub did not give it ({type(error).__name__}: {error}); offline, copy the "
            "model's directory here and name that, or use `minilm`, which is installed"
        ) from error


def _digest(directory: Path, files: Iterable[Path]) -> str:
    """Return 12 hex digits that change when a file of the model changes."""
    digest = hashlib.blake2b(digest_size=6)
    for path in files:
        if path.is_file():
            digest.update(str(path.relative_to(directory)).encode())
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "blake2b").digest())
    return digest.hexdigest()
