"""Hard negatives: memories about the same subject as the answer, that are not the answer."""

import numpy as np

from seedmem.learn.examples import Corpus, Examples, Rows

SPARE_SHARE = 0.95
"""A memory this near the query, relative to the gold, may well be an answer itself: spared."""


def hard_negatives(examples: Examples, corpus: Corpus, *, count: int) -> list[list[Rows]]:
    """Return, for each question and each of its golds, rows of its hard negatives, hardest first.

    A memory n is one iff it shares a subject with the gold g, answers the question in no pair,
    and cos(q, n) < 0.95 · cos(q, g). What the user rejected for the question comes before
    all of them, whatever its cosine.

    Args:
        examples: n questions.
        corpus: the user's memories and links.
        count: most negatives a gold gets.
    """
    return [
        [_hard(question, gold, examples, corpus, count) for gold in golds]
        for question, golds in enumerate(examples.golds)
    ]


def _hard(question: int, gold: int, examples: Examples, corpus: Corpus, count: int) -> Rows:
    query = examples.queries[question]
    neighbours = _sharing_a_subject(gold, corpus)
    cosines = corpus.memories[neighbours] @ query  # (r,)
    kept = cosines < SPARE_SHARE * float(corpus.memories[gold] @ query)
    hardest = neighbours[kept][np.argsort(-cosines[kept], kind="stable")]
    rejected = np.asarray(examples.rejected[question], dtype=np.int64)
    known = np.asarray(examples.golds[question], dtype=np.int64)
    ordered = np.concatenate([rejected, hardest[~np.isin(hardest, rejected)]])
    answers = np.isin(corpus.twin_of[ordered], corpus.twin_of[known])
    return ordered[~answers][:count]


def _sharing_a_subject(gold: int, corpus: Corpus) -> Rows:
    linked = [corpus.memories_of[subject] for subject in corpus.subjects_of[gold]]
    return np.unique(np.concatenate(linked)) if linked else np.zeros(0, dtype=np.int64)
