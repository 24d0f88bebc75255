"""The stored form of a graph: its links and labels, without the vectors.

Records hold the vectors, so a snapshot never repeats them: ``Frozen.graph``
takes them back by label. Layout: magic, BLAKE2b-256 of all that follows, length of
a JSON header, the header, then arrays. The digest and the identity are checked
before hnswlib sees a byte, because it crashes on damaged ones.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import hnswlib
import numpy as np
from numpy.typing import NDArray

from seedmem.errors import SnapshotError
from seedmem.user.graph import Graph, Labels
from seedmem.vectors import Matrix, unit_rows

Identity = Mapping[str, str]

_MAGIC = b"seedgrf1"
_DIGEST = 32  # bytes
_DELETED_BYTE, _DELETED_BIT = 2, 1  # of a node's level-0 links: count (2), mark (1), unused (1)
_LABEL = 8  # bytes, at the end of a node


@dataclass(frozen=True, slots=True)
class Frozen:
    """A graph without vectors; arrays are by hnswlib's own node number."""

    settings: Mapping[str, Any]
    """Scalars of hnswlib's state."""
    labels: Labels
    links: NDArray[np.uint8]
    """(n, bytes): level 0."""
    levels: NDArray[np.int32]
    """(n,): highest level of each node."""
    upper: NDArray[np.int8]
    """Links of the levels above, as hnswlib lays them out."""

    @classmethod
    def of(cls, graph: Graph) -> "Frozen":
        """Return a copy of what ``graph`` is now; its owner's lock must be held."""
        state: dict[str, Any] = graph.index.__getstate__()[0]
        count = state["cur_element_count"]
        nodes = state["data_level0"].view(np.uint8).reshape(count, -1)
        return cls(
            settings={k: v for k, v in state.items() if not isinstance(v, np.ndarray)},
            labels=nodes[:, -_LABEL:].copy().view(np.int64).ravel(),
            links=nodes[:, : state["offset_data"]].copy(),
            levels=state["element_levels"][:count],
            upper=state["link_lists"],
        )

    @property
    def deleted(self) -> NDArray[np.bool_]:
        """(n,): whether a node is marked deleted."""
        return (self.links[:, _DELETED_BYTE] & _DELETED_BIT).astype(bool)

    def graph(self, vectors: Matrix, missing: NDArray[np.bool_]) -> Graph:
        """Return the graph over ``vectors``, (n, d); nodes that are ``missing`` are deleted.

        A missing node gets the mean direction of its neighbours, so that it
        still leads searches to them.
        """
        vectors = vectors.copy()
        for node in np.flatnonzero(missing):
            count = int(self.links[node, :2].view(np.uint16)[0])
            neighbours = self.links[node, 4 : 4 + 4 * count].view(np.uint32)
            vectors[node] = vectors[neighbours[~missing[neighbours]]].sum(axis=0)
        graph = _thawed(self, unit_rows(vectors))
        for label in self.labels[missing & ~self.deleted].tolist():
            graph.remove(label)
        return graph


def freeze(frozen: Frozen, identity: Identity) -> bytes:
    """Return the stored form; ``identity`` says whose graph it is, in which space."""
    arrays: list[NDArray[Any]] = [frozen.labels, frozen.links, frozen.levels, frozen.upper]
    header = json.dumps(
        {
            "identity": dict(identity),
            "settings": dict(frozen.settings),
            "arrays": [[a.dtype.str, a.shape] for a in arrays],
            "count": len(frozen.labels),
            "covers": int(frozen.labels.max(initial=-1)),
        }
    ).encode()
    body = b"".join([len(header).to_bytes(4, "little"), header, *(a.tobytes() for a in arrays)])
    return _MAGIC + blake2b(body, digest_size=_DIGEST).digest() + body


def thaw(raw: bytes, identity: Identity) -> Frozen:
    """Return the graph of a stored form.

    Raises:
        SnapshotError: damaged, or of another user, space or format.
    """
    if raw[: len(_MAGIC)] != _MAGIC:
        raise SnapshotError(f"graph snapshot starts with {raw[:8]!r}, want {_MAGIC!r}")
    start = len(_MAGIC) + _DIGEST
    if blake2b(raw[start:], digest_size=_DIGEST).digest() != raw[len(_MAGIC) : start]:
        raise SnapshotError(f"graph snapshot of {len(raw)} bytes is damaged: digests differ")
    end = start + 4 + int.from_bytes(raw[start : start + 4], "little")
    header = json.loads(raw[start + 4 : end])
    if header["identity"] != dict(identity):
        raise SnapshotError(f"graph snapshot is of {header['identity']}, want {dict(identity)}")
    arrays: list[NDArray[Any]] = []
    for kind, shape in header["arrays"]:
        array = np.frombuffer(raw, dtype=kind, count=int(np.prod(shape)), offset=end)
        arrays.append(array.reshape(shape))
        end += array.nbytes
    return Frozen(header["settings"], *arrays)


def _thawed(frozen: Frozen, vectors: Matrix) -> Graph:
    """Return a graph from hnswlib's own state, put together again."""
    count = len(frozen.labels)
    parts = (frozen.links, vectors.view(np.uint8), frozen.labels[:, None].view(np.uint8))
    levels = np.zeros(frozen.settings["max_elements"], dtype=np.int32)
    levels[:count] = frozen.levels
    state = {
        **frozen.settings,
        "data_level0": np.concatenate(parts, axis=1).ravel().view(np.int8),
        "element_levels": levels,
        "link_lists": frozen.upper,
        "label_lookup_external": frozen.labels.astype(np.uint64),
        "label_lookup_internal": np.arange(count, dtype=np.uint32),
    }
    graph = Graph.__new__(Graph)
    graph.index = hnswlib.Index.__new__(hnswlib.Index)
    graph.index.__setstate__((state,))
    graph.index.set_num_threads(1)
    graph.deleted = int(frozen.deleted.sum())
    return graph
