"""One retraining: what a user's pairs, or its memories alone, teach, and what the gate says.

Torch is imported when ``learn`` is called, which only workers of the role ``retrain`` do.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seedmem.adapt import Adapter
from seedmem.errors import EncoderUnavailableError, SeedmemError
from seedmem.learn.config import LABEL_FREE, FitConfig
from seedmem.learn.examples import Corpus
from seedmem.learn.gate import Decision, GateConfig
from seedmem.learn.pairs import Evidence, Pair, gather
from seedmem.user import UserState
from seedmem.vectors import Matrix
from streams.settings import Settings
from streams.supervision import Lesson

if TYPE_CHECKING:
    from seedmem.learn.retrain import Retrained

logger = logging.getLogger(__name__)

TWICE = GateConfig(significance=0.025)
"""For each of two candidates, so that both together err no oftener than one."""

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

    Where there are enough pairs, they judge two candidates in turn: one fitted to questions that
    are made of the user's own memories, and one whose adapter is fitted to the pairs. With fewer,
    there is the first alone, judged on such questions that were held out.

    Raises:
        EncoderUnavailableError: the same call may succeed later.
    """
    from seedmem.learn.served import corpus_of

    try:
        corpus = corpus_of(study.state)
        evidence = gather(study.pairs, corpus)
        found = len(evidence.examples)
        if found >= settings.retrain_pairs:
            return _from_pairs(study, corpus, evidence, encode, settings)
        learned = _from_memories(study, corpus, encode, settings)
        return replace(learned, dropped=_counted(evidence))
    except EncoderUnavailableError:
        raise
    except SeedmemError as error:
        return Learned(reason=str(error))
    except Exception as error:
        logger.exception("a retraining failed")
        return Learned(reason=f"failed: {error!r}", failed=True)


def _counted(evidence: Evidence) -> dict[str, int]:
    return {reason.value: count for reason, count in evidence.dropped.items()}


def _from_pairs(
    study: Study, corpus: Corpus, evidence: Evidence, encode: Encode, settings: Settings
) -> Learned:
    """Judge both candidates on the pairs; the second keeps the first one's lexicon."""
    from seedmem.learn.retrain import Trial, retrain
    from seedmem.learn.served import served_rank

    examples, numbers = evidence.examples, np.array(evidence.asked_at)
    rank = served_rank(study.state, examples, evidence.texts)
    unseen = np.flatnonzero(numbers > study.seen) if study.current.version else None
    judged = np.arange(len(examples)) if unseen is None else unseen
    learned = partial(Learned, questions=len(examples), dropped=_counted(evidence))
    free = _label_free(study, corpus, encode, settings)
    if free is not None:
        first = Trial(corpus, study.current, rank, judged, config=TWICE).decide(free)
        if first.decision.shipped:
            return learned(**_outcome(first), lesson="pseudo-queries")
    second = retrain(
        examples,
        corpus,
        current=study.current,
        rank=rank,
        version=study.version,
        lexicon=study.current.lexicon if free is None else free.lexicon,
        unseen=unseen,
        fit_config=replace(FitConfig(), threads=settings.threads),
        gate_config=TWICE,
    )
    return learned(**_outcome(second), lesson="pairs", seen=int(numbers.max()))


def _from_memories(study: Study, corpus: Corpus, encode: Encode, settings: Settings) -> Learned:
    from seedmem.learn.label_free import introduce, made_of
    from seedmem.learn.retrain import Trial
    from seedmem.learn.served import served_rank

    pseudo = made_of(study.state, encode)
    rank = served_rank(study.state, pseudo.examples, pseudo.texts)
    found = introduce(
        study.state,
        pseudo,
        Trial(corpus, study.current, rank, np.arange(0)),
        version=study.version,
        config=replace(LABEL_FREE, threads=settings.threads),
    )
    return Learned(**_outcome(found), lesson="pseudo-queries", questions=len(pseudo.texts))


def _label_free(study: Study, corpus: Corpus, encode: Encode, settings: Settings) -> Adapter | None:
    """Return what the memories alone teach, None where they teach nothing."""
    from seedmem.learn.label_free import fit_label_free, made_of

    config = replace(LABEL_FREE, threads=settings.threads)
    try:
        pseudo = made_of(study.state, encode)
        return fit_label_free(study.state, corpus, pseudo, version=study.version, config=config)
    except EncoderUnavailableError:
        raise
    except SeedmemError as error:  # such as an encoder that takes no text
        logger.info("nothing is learned from the memories alone: %s", error)
        return None


def _outcome(retrained: "Retrained") -> dict[str, Any]:
    decision = retrained.decision
    return {"reason": decision.reason, "candidate": retrained.candidate, "gate": decision}
