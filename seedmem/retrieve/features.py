"""What tells a memory that answers from one that does not: one column for each feature.

Cosines are taken in standard scores over the user's memories, so that encoders compare;
keywords have an absolute scale; what a memory *is* counts from 0 to 1. A column is
computed only when it is asked for.
"""

from functools import cached_property

import numpy as np

from seedmem.adapt import Adapter
from seedmem.retrieve import dates
from seedmem.retrieve.candidates import Candidates, candidates
from seedmem.retrieve.context import Column, Context
from seedmem.retrieve.lexical import Lexical, rows_with
from seedmem.retrieve.query import Query
from seedmem.retrieve.question import ASSISTANTS, Question
from seedmem.retrieve.visible import admitted, known
from seedmem.text import hash_terms, terms
from seedmem.user import UserState

FEATURES = (
    "dense",
    "dense_window",
    "keyword",
    "keyword_window",
    "keyword_stretch",
    "subject",
    "reply",
    "speaker",
    "assistant",
    "small_talk",
    "short_question",
    "date",
    "when",
    "current",
    "bent",
    "own_words",
)

TOP_SUBJECTS = 40  # N of subject fusion
_SHORT_QUESTION = 12.0  # terms
_FEW_WORDS = 4.0  # known words that a memory must have for its mean to be trusted
_RIVAL = 1.0  # standard scores below the best that are still about the same
_TIMES = hash_terms(
    terms(
        "yesterday tomorrow today tonight last next week weekend month year ago recently since soon"
        " morning night evening monday tuesday wednesday thursday friday saturday sunday january"
        " february march april june july august september october november december summer winter"
        " spring fall"
    )
)


class Features:
    """The features of all memories for one query: a property each, (rows,) float32."""

    def __init__(self, state: UserState, query: Query, adapter: Adapter | None = None) -> None:
        self._state, self._query, self._vector = state, query, query.vector
        self._adapter = adapter
        self.nothing = np.zeros(state.rows, dtype=np.float32)
        """The column of every feature that has nothing to say of this question."""
        self.known = known(state, query)
        self.admitted = admitted(state, query)

    def column(self, feature: str) -> Column:
        """Return one of ``FEATURES``.

        Raises:
            ValueError: there is no such feature.
        """
        if feature not in FEATURES:
            raise ValueError(f"no feature {feature!r}, want one of {', '.join(FEATURES)}")
        column: Column = getattr(self, feature)
        return column

    @cached_property
    def question(self) -> Question:
        """What the text asks."""
        return Question(self._query.text or "", self._state.speakers)

    @cached_property
    def candidates(self) -> Candidates:
        """The memories in play."""
        return candidates(
            self._state,
            self._vector,
            self.known,
            self.admitted,
            found=lambda: (self.lexical.keyword, self.subject),
            beside=lambda rows: self._context.reach(rows, 1),
        )

    @cached_property
    def lexical(self) -> Lexical:
        """The keyword columns, each on its absolute scale."""
        return Lexical(self._state, self.question.terms, self.known, self._context)

    @cached_property
    def dense(self) -> Column:
        """Cosine of the question and the memory."""
        return self._standard(self.candidates.cosine)

    @cached_property
    def dense_window(self) -> Column:
        """Mean cosine of the memory and the turns around it, as far as it borrows."""
        return self._standard(self._context.mean(self.candidates.cosine))

    @cached_property
    def keyword(self) -> Column:
        """BM25 of the memory, in standard scores."""
        return self._standard(self.lexical.keyword)

    @property
    def keyword_window(self) -> Column:
        """BM25 of the memory with what it borrows from two turns to each side."""
        return self.lexical.window

    @property
    def keyword_stretch(self) -> Column:
        """Share of the question's keywords that the talk around the memory holds."""
        return self.lexical.stretch

    @cached_property
    def subject(self) -> Column:
        """Best cosine of a linked subject among the question's nearest; 0 if none."""
        if self._vector is None:
            return self.nothing
        return self._state.best_subject_scores(self._vector, TOP_SUBJECTS)

    @property
    def reply(self) -> Column:
        """How well the turn before asks the question, where it does ask."""
        reply: Column = self._context.replies * self.dense[self._context.previous[:-1]]
        return reply

    @cached_property
    def speaker(self) -> Column:
        """Whether the memory is told by whom the question names, "I" being the user."""
        return self._spoken_by(self.question.speakers)

    @property
    def assistant(self) -> Column:
        """Whether an assistant speaks whom the question does not ask about."""
        names = enumerate(self._state.speakers)
        codes = frozenset(code for code, name in names if name in ASSISTANTS)
        return self._spoken_by(codes - self.question.speakers)

    @property
    def small_talk(self) -> Column:
        """How short a turn of a talk is; a note is never too short."""
        return self._context.small_talk

    @property
    def short_question(self) -> Column:
        """How short a memory is that only asks."""
        return self._state.derived(_short_question)

    @property
    def date(self) -> Column:
        """How near the memory was made to a date that the question names."""
        made, at = self._state.created_at, self._query.as_of
        if not dates.names_one(self.question.words):
            return self.nothing
        if at is None:
            times = made[self.known]
            at = float(np.nanmax(times)) if not np.isnan(times).all() else 0.0
        return dates.agreement(made, dates.spans(self.question.words, at))

    @property
    def when(self) -> Column:
        """Whether the memory has a word of time, if the question asks when."""
        return rows_with(self._state, _TIMES) if self.question.when else self.nothing

    @property
    def current(self) -> Column:
        """How new a memory is among those about the same, if the question asks for what holds now.

        0 for the eldest rival to 1 for the newest; ½ of it where only the tense asks.
        """
        if self.question.present == 0.0 or not self.candidates.scored.any():
            return self.nothing
        newness = np.zeros_like(self.nothing)
        scored = np.flatnonzero(self.candidates.scored)
        closeness = self.dense_window[scored]
        rivals = scored[closeness >= closeness.max() - _RIVAL]
        times = np.nan_to_num(self._state.created_at[rivals], nan=-np.inf)
        rivals = rivals[np.lexsort((self._state.born[rivals], times))]
        newness[rivals] = np.linspace(0.0, self.question.present, len(rivals) + 1)[1:]
        return newness

    @cached_property
    def bent(self) -> Column:
        """What the adapter moves: standard score of cos(f(q), m), less that of cos(q, m)."""
        if self._vector is None or self._adapter is None or self._adapter.hidden == 0:
            return self.nothing
        bent = self.candidates.cosines(self._state, self._adapter.apply(self._vector))
        moved: Column = self._standard(bent) - self.dense
        return moved

    @cached_property
    def own_words(self) -> Column:
        """How much likelier the question makes the memory's words, by the user's lexicon."""
        lexicon = None if self._adapter is None else self._adapter.lexicon
        if self._vector is None or lexicon is None:
            return self.nothing
        favours = lexicon.favours(self._vector, self.question.terms)
        uses = self._state.keyword.uses(lexicon.words)
        total = np.bincount(uses.row, favours[uses.word], minlength=self._state.rows)
        return self._standard((total / np.sqrt(uses.count + _FEW_WORDS)).astype(np.float32))

    @cached_property
    def _all_known(self) -> bool:
        return bool(self.candidates.sample.all())

    @cached_property
    def _context(self) -> Context:
        return Context.of(self._state, self.known)

    def _spoken_by(self, codes: frozenset[int]) -> Column:
        if not codes:
            return self.nothing
        meant = np.zeros(len(self._state.speakers) + 1, dtype=np.float32)  # code -1: nobody
        meant[list(codes)] = 1.0
        return meant[self._state.speaker]

    def _standard(self, column: Column) -> Column:
        """Return standard scores over the sample; all 0 where it is of one value."""
        sample = column if self._all_known else column[self.candidates.sample]
        if len(sample) == 0:
            return np.zeros_like(column)
        mean = sample.mean()
        centred = sample - mean
        spread = float(np.sqrt(np.dot(centred, centred) / len(sample)))
        if spread < 1e-6:
            return np.zeros_like(column)
        standard: Column = (centred if self._all_known else column - mean) / np.float32(spread)
        return standard


def _short_question(state: UserState) -> Column:
    short = np.maximum(0.0, 1.0 - state.length / _SHORT_QUESTION)
    return (state.is_question * short).astype(np.float32)
