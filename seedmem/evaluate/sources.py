"""Data files, read: what was given, and the subjects that lie beside it."""

from collections.abc import Sequence
from pathlib import Path

from seedmem.errors import DataError
from seedmem.evaluate.datasets import Item, MemoryItem, SubjectItem, parse_lines, parse_locomo
from seedmem.extract import Extractor
from seedmem.text import normal

LOCOMO = "locomo"
"""Name of LoCoMo's conversations, also where they come as the file that LoCoMo publishes."""


def read(files: Sequence[Path]) -> dict[str, list[Item]]:
    """Return the items of each file by the file's stem; ``STEM_subjects.jsonl`` beside it joins.

    Raises:
        DataError: a file has not the form it should; it names the file.
    """
    beside = [file.with_name(f"{file.stem}_subjects.jsonl") for file in files]
    found: dict[str, list[Item]] = {}
    for file in dict.fromkeys([*files, *(file for file in beside if file.exists())]):
        raw = file.read_bytes()
        published = raw.lstrip().startswith(b"[")
        try:
            items = list(parse_locomo(raw) if published else parse_lines(raw.split(b"\n")))
        except DataError as error:
            raise DataError(f"{file}: {error}") from error
        found.setdefault(LOCOMO if published else file.stem, []).extend(items)
    return found


def with_subjects(items: Sequence[Item], extractor: Extractor) -> list[Item]:
    """Return ``items`` with the subjects that are extracted from the memories."""
    memories = [item for item in items if isinstance(item, MemoryItem)]
    names: dict[tuple[str, str], str] = {}
    links: dict[tuple[str, str], dict[str, None]] = {}
    extracted = extractor.extract([memory.text for memory in memories])
    for memory, subjects in zip(memories, extracted, strict=True):
        for subject in subjects:
            key = memory.user_id, normal(subject.name)
            names.setdefault(key, subject.name)
            links.setdefault(key, {})[memory.id] = None
    made = [
        SubjectItem(
            user_id=key[0], id=f"extracted-{number}", name=name, memory_ids=tuple(links[key])
        )
        for number, (key, name) in enumerate(names.items())
    ]
    return [*items, *made]
