"""qdrant-edge on the same data: what one would embed instead, dense and keywords fused by rank."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import qdrant_edge as qe

from seedmem.memory import Memory
from seedmem.vectors import Vector

FETCHED = 50  # of each leg before they are fused
RRF = 2  # k of reciprocal rank fusion as Qdrant sets it
_BATCH = 1_000  # points of one write


class Peer:
    """One shard with the memories of one user."""

    def __init__(self, shard: Any) -> None:
        self._shard, self._bm25 = shard, qe.Bm25()
        self._filled = 0

    def fill(self, memories: Sequence[Memory]) -> None:
        """Write more ``memories`` and have it build what indexes it wants."""
        for start in range(0, len(memories), _BATCH):
            points = [
                qe.Point(
                    self._filled + at,
                    {
                        "dense": memory.vector.tolist(),
                        "keyword": self._bm25.embed_document(memory.text),
                    },
                    {"text": memory.text, "memory_id": memory.memory_id},
                )
                for at, memory in enumerate(memories[start : start + _BATCH])
            ]
            self._shard.update(qe.UpdateOperation.upsert_points(points))
            self._filled += len(points)
        self._shard.optimize()

    def hybrid(self, text: str, vector: Vector, k: int) -> list[Any]:
        """Return the ``k`` best points, their payloads with them."""
        legs = [
            qe.Query.Nearest(vector.tolist(), using="dense"),
            qe.Query.Nearest(self._bm25.embed_query(text), using="keyword"),
        ]
        request = qe.QueryRequest(
            limit=k,
            query=cast("qe.Fusion", qe.Fusion.Rrf(k=RRF)),  # its stub says so
            prefetches=[qe.Prefetch(limit=FETCHED, query=leg) for leg in legs],
            with_payload=True,
        )
        found: list[Any] = self._shard.query(request)
        return found


@contextmanager
def peer(directory: Path, dim: int) -> Iterator[Peer]:
    """Yield an empty shard in ``directory``, with the settings that Qdrant gives it."""
    config = qe.EdgeConfig(
        vectors={"dense": qe.EdgeVectorParams(size=dim, distance=qe.Distance.Cosine)},
        sparse_vectors={"keyword": qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)},
    )
    shard = qe.EdgeShard.create(str(directory), config)
    try:
        yield Peer(shard)
    finally:
        shard.close()
