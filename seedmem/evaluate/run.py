"""Ask every question of every data set by every method, as the service would answer it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from seedmem.evaluate.corpus import Case, Corpus, User
from seedmem.evaluate.methods import Maker, Method
from seedmem.retrieve import Hit, Weights
from seedmem.user import UserState

Split = Literal["none", "leave-one-user-out", "frozen", "half"]

DEPTH = 100  # places down to which a gold memory is looked for
SHOWN = 10  # hits that are kept for the report, and k of the timed call


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one method answered to one question."""

    ranking: tuple[str, ...]
    """Ids, best first, down to ``DEPTH``."""
    hits: tuple[Hit, ...]
    """The first ``SHOWN``."""
    confidence: float
    abstained: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question, and what each method answered."""

    data: str
    user_id: str
    case: Case
    outcomes: Mapping[str, Outcome]
    """By method."""


Fitted = Mapping[str, Weights]
"""``data/user`` → weights that have not seen this user."""
Track = Callable[[Sequence[tuple[str, User]]], Iterable[tuple[str, User]]]


def ask_all(
    corpora: Sequence[Corpus],
    methods: Mapping[str, Maker],
    fitted: Fitted,
    shipped: Weights,
    *,
    clock: Callable[[], float],
    track: Track = iter,
) -> list[Asked]:
    """Return every answer.

    Args:
        corpora: the data sets.
        methods: names and makers.
        fitted: weights for users that ``shipped`` has seen.
        shipped: weights for all others.
        clock: seconds, monotonic.
        track: shows progress.
    """
    asked = []
    for data, user in track([(corpus.name, user) for corpus in corpora for user in corpus.users]):
        weights = fitted.get(f"{data}/{user.user_id}", shipped)
        made = {name: maker(user.user_id, weights) for name, maker in methods.items()}
        for case in user.cases:
            outcomes = {name: _ask(user.state, case, made[name], clock) for name in made}
            asked.append(Asked(data=data, user_id=user.user_id, case=case, outcomes=outcomes))
    return asked


def _ask(state: UserState, case: Case, method: Method, clock: Callable[[], float]) -> Outcome:
    """Return what comes back: the served answer, timed, and a longer one for the ranks of gold."""
    started = clock()
    answer = method(state, replace(case.query, k=SHOWN))
    seconds = clock() - started
    deeper = method(state, replace(case.query, k=DEPTH))
    return Outcome(
        ranking=tuple(hit.memory_id for hit in deeper.hits),
        hits=answer.hits,
        confidence=answer.confidence,
        abstained=answer.abstained,
        seconds=seconds,
    )
