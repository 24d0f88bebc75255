"""One retraining: what a user's pairs, or its memories alone, teach, and what the gate says.

Torch is imported when ``learn`` is called, which only workers of the role ``retrain`` do.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from seedmem.adapt import Adapter
from seedmem.errors import EncoderUnavailableError, SeedmemError
from seedmem.extract import pseudo_queries
from seedmem.learn.config import LABEL_FREE, FitConfig
from seedmem.learn.examples import Corpus, Examples
from seedmem.learn.gate import Decision
from seedmem.learn.pairs import Evidence, Pair, gather
from seedmem.user import UserState
from seedmem.vectors import Matrix
from streams.settings import Settings
from streams.supervision import Lesson

logger = logging.getLogger(__name__)

MOST_PSEUDO_QUERIES = 8_000  # that one fit sees; of a larger user, those of every n-th memory

Outcome = Literal["promoted", "refused", "declined", "failed"]
"""Refused by the gate; declined where there is too little to learn from."""
Encode = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What one retraining has to go by, all of it read at one time."""

    state: UserState
    pairs: tuple[Pair, ...]
    """Their ``at`` is the number of the write that kept them."""
    current: Adapter
    seen: int
    """Number of the last pair that ``current`` was fitted to."""
    version: int
    """Of the adapter, should it ship."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of a study."""

    reason: str
    failed: bool = False
    """Whether a fault of ours kept it from a decision."""
    lesson: Lesson = "none"
    questions: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    seen: int = 0
    """Number of the last pair that was fitted to; 0 for none."""
    candidate: Adapter | None = None
    gate: Decision | None = None

    @property
    def ships(self) -> bool:
        """Whether the gate lets the candidate serve."""
        return self.gate is not None and self.gate.shipped

    @property
    def outcome(self) -> Outcome:
        """What became of it, in one word."""
        if self.gate is None:
            return "failed" if self.failed else "declined"
        return "promoted" if self.gate.shipped else "refused"


def learn(study: Study, encode: Encode, settings: Settings) -> Learned:
    """Return a candidate and the gate's decision, or why there is none. CPU work of seconds.

    From pairs where there are enough of them; else, for a user without an adapter, from
    questions that are made of its own memories.

    Raises:
        EncoderUnavailableError: the same call may succeed later.
    """
    from seedmem.learn.served import corpus_of

    try:
        corpus = corpus_of(study.state)
        evidence = gather(study.pairs, corpus)
        found = len(evidence.examples)
        if found >= settings.retrain_pairs:
            return _from_pairs(study, corpus, evidence, settings)
        if study.current.version == 0:
            return _from_memories(study, corpus, encode, settings)
    except EncoderUnavailableError:
        raise
    except SeedmemError as error:
        return Learned(reason=str(error))
    except Exception as error:
        logger.exception("a retraining failed")
        return Learned(reason=f"failed: {error!r}", failed=True)
    return Learned(
        reason=f"too few questions with an answer: got {found}, want {settings.retrain_pairs}",
        questions=found,
        dropped=_counted(evidence),
    )


def _counted(evidence: Evidence) -> dict[str, int]:
    return {reason.value: count for reason, count in evidence.dropped.items()}


def _from_pairs(study: Study, corpus: Corpus, evidence: Evidence, settings: Settings) -> Learned:
    from seedmem.learn.retrain import retrain
    from seedmem.learn.served import served_rank

    examples, numbers = evidence.examples, np.array(evidence.asked_at)
    retrained = retrain(
        examples,
        corpus,
        current=study.current,
        rank=served_rank(study.state, examples, evidence.texts),
        version=study.version,
        unseen=np.flatnonzero(numbers > study.seen) if study.current.version else None,
        fit_config=replace(FitConfig(), threads=settings.threads),
    )
    return Learned(
        reason=retrained.decision.reason,
        lesson="pairs",
        questions=len(examples),
        dropped=_counted(evidence),
        seen=int(numbers.max()),
        candidate=retrained.candidate,
        gate=retrained.decision,
    )


def _from_memories(study: Study, corpus: Corpus, encode: Encode, settings: Settings) -> Learned:
    from seedmem.learn.retrain import introduce
    from seedmem.learn.served import served_rank

    rows, texts = _pseudo_queries(study.state)
    examples = Examples(queries=encode(texts), golds=tuple((row,) for row in rows))
    introduced = introduce(
        examples,
        corpus,
        rank=served_rank(study.state, examples, texts),
        version=study.version,
        fit_config=replace(LABEL_FREE, threads=settings.threads),
    )
    return Learned(
        reason=introduced.decision.reason,
        lesson="pseudo-queries",
        questions=len(examples),
        candidate=introduced.candidate,
        gate=introduced.decision,
    )


def _pseudo_queries(state: UserState) -> tuple[list[int], list[str]]:
    """Return rows of the user's corpus, and a question that each answers."""
    memories = [state.memory(row) for row in np.flatnonzero(state.live).tolist()]
    asked = pseudo_queries([m.text for m in memories], [m.role for m in memories])
    made = [(row, text) for row, texts in enumerate(asked) for text in texts]
    every = max(1, math.ceil(len(made) / MOST_PSEUDO_QUERIES))
    kept = [(row, text) for row, text in made if row % every == 0]
    return [row for row, _ in kept], [text for _, text in kept]
