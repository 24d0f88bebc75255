"""What a user's memories teach without any label: an adapter and a lexicon, from pseudo-queries."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seedmem.adapt import Adapter
from seedmem.extract import pseudo_queries
from seedmem.learn.config import LABEL_FREE, FitConfig, LexiconConfig
from seedmem.learn.examples import Corpus, Examples, Rows
from seedmem.learn.fit import fit
from seedmem.learn.lexicon import Lessons, fit_lexicon
from seedmem.learn.retrain import Retrained, Trial
from seedmem.retrieve.context import Context
from seedmem.retrieve.question import Question
from seedmem.text import Terms
from seedmem.user import UserState
from seedmem.vectors import Matrix

MOST = 8_000
"""Pseudo-queries that one fit sees; of a larger user, those of every n-th memory."""

_PARTS = 5  # of the pseudo-queries, one of which is enough to judge by: they are many

Encode = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudo:
    """Questions made of a user's memories."""

    examples: Examples
    """Their vectors, and the memory that each was made of: a row of the user's corpus."""
    texts: tuple[str, ...]

    def take(self, chosen: Rows) -> "Pseudo":
        """Return the chosen questions."""
        texts = tuple(self.texts[i] for i in chosen.tolist())
        return Pseudo(examples=self.examples.take(chosen), texts=texts)


def made_of(state: UserState, encode: Encode) -> Pseudo:
    """Return the questions that can be made of a user's memories, by templates.

    Raises as ``encode`` does.
    """
    memories = [state.memory(row) for row in np.flatnonzero(state.live).tolist()]
    asked = pseudo_queries([m.text for m in memories], [m.role for m in memories])
    made = [(row, text) for row, texts in enumerate(asked) for text in texts]
    every = max(1, math.ceil(len(made) / MOST))
    kept = [(row, text) for row, text in made if row % every == 0]
    texts = tuple(text for _, text in kept)
    golds = tuple((row,) for row, _ in kept)
    return Pseudo(examples=Examples(queries=encode(texts), golds=golds), texts=texts)


def fit_label_free(
    state: UserState,
    corpus: Corpus,
    pseudo: Pseudo,
    *,
    version: int,
    config: FitConfig = LABEL_FREE,
) -> Adapter:
    """Return an adapter with a lexicon, both fitted to ``pseudo``.

    Args:
        state: the user.
        corpus: its ``corpus_of``.
        pseudo: questions made of its memories.
        version: number of the adapter.
        config: how to fit the adapter; its seed and threads hold for the lexicon too.

    Raises:
        SupervisionError: nothing can be learned from so little.
        AdapterError: a fit ended in weights that are not finite.
    """
    adapter = fit(pseudo.examples, corpus, version=version, config=config).adapter
    how = LexiconConfig(seed=config.seed, threads=config.threads)
    return replace(adapter, lexicon=fit_lexicon(_lessons(state, corpus, pseudo), how))


def introduce(
    state: UserState,
    pseudo: Pseudo,
    trial: Trial,
    *,
    version: int,
    config: FitConfig = LABEL_FREE,
) -> Retrained:
    """Return an adapter fitted to pseudo-queries, and the gate's decision on those held out.

    A fifth of the pseudo-queries is held out of the fit, and judged in place of what ``trial``
    says. The memories that answer them are known when it serves, so they may answer others in
    the fit. Arguments and errors as in ``fit_label_free``.
    """
    shuffled = np.random.default_rng(config.seed).permutation(len(pseudo.texts))
    held_out, training = np.split(shuffled, [len(pseudo.texts) // _PARTS])
    candidate = fit_label_free(
        state, trial.corpus, pseudo.take(training), version=version, config=config
    )
    return replace(trial, judged=held_out).decide(candidate)


def _lessons(state: UserState, corpus: Corpus, pseudo: Pseudo) -> Lessons:
    rows = np.flatnonzero(state.live)
    told = [_keywords(state, state.words(row).text) for row in rows.tolist()]
    beside = _beside(state, rows)
    asks = np.flatnonzero(state.is_question[rows] & (beside[:, 1] >= 0))
    made = [_keywords(state, text) for text in pseudo.texts]
    itself = np.arange(len(rows))
    golds = np.array([gold for (gold,) in pseudo.examples.golds], dtype=np.int64)
    return Lessons(
        told=told,
        beside=beside,
        asked=[*made, *told, *(told[row] for row in asks.tolist())],
        vectors=np.concatenate([pseudo.examples.queries, corpus.memories, corpus.memories[asks]]),
        answers=np.concatenate([golds, itself, beside[asks, 1]]),
    )


def _beside(state: UserState, rows: Rows) -> Rows:
    """Return (m, 2): the places in ``rows`` of the turns before and after each, -1 for none."""
    context = Context.of(state, state.live)
    place = np.full(state.rows + 1, -1, dtype=np.int64)  # index -1: nobody
    place[rows] = np.arange(len(rows))
    return np.stack([place[context.previous[:-1][rows]], place[context.next[:-1][rows]]], axis=1)


def _keywords(state: UserState, text: str) -> Terms:
    return Question(text, state.speakers).terms
