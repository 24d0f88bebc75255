"""Fit one user's lexicon: which of the user's words a question reaches for.

It learns from the memories alone: every pseudo-query, every memory as its own question, and
every turn that asks, with the turn after it as the answer. What an answer is to yield are its
words, the rare ones more, and a little of what was said before and after it::

    y(w) ∝ idf(w) · (1[w ∈ m] + 0.3 · 1[w ∈ previous(m)] + 0.3 · 1[w ∈ next(m)])
    L = − Σ_w y(w) · log p(w | q)

Half of a question's keywords are left out of each step, so that the vector must do without.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from seedmem.adapt import Lexicon
from seedmem.adapt.lexicon import SHARPNESS
from seedmem.errors import SupervisionError
from seedmem.learn.config import LexiconConfig
from seedmem.learn.examples import Rows
from seedmem.learn.optimiser import AdamW
from seedmem.learn.threads import threads
from seedmem.text import Terms
from seedmem.vectors import Matrix

_NEIGHBOUR = 0.3  # weight of the words of a neighbour
_MOST_ASKED = 24  # keywords of a question that are learned from
_MOST_WORDS = 4_000  # of a user, the most frequent ones: bounds what a lexicon takes
_LEAST = 1e-3  # added to the mass of a word that nothing yields, for its logarithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What a user's memories teach about its words."""

    told: Sequence[Terms]
    """Keywords of each of the m memories."""
    beside: Rows
    """(m, 2): row of the turn before and of the turn after, -1 for none."""
    asked: Sequence[Terms]
    """Keywords of each of the n questions."""
    vectors: Matrix
    """(n, d), unit rows: of the questions."""
    answers: Rows
    """(n,): row of the memory that answers."""


def fit_lexicon(lessons: Lessons, config: LexiconConfig | None = None) -> Lexicon:
    """Return a lexicon fitted to ``lessons``; the same bytes for the same arguments.

    Raises:
        SupervisionError: no memory has a word.
        AdapterError: the fit ended in weights that are not finite.
    """
    config = config or LexiconConfig()
    words = _words(lessons.told)
    if not len(words):
        raise SupervisionError("no memory has a keyword: there is nothing for a lexicon to learn")
    targets = _targets(lessons, words)
    kept = np.flatnonzero(targets[lessons.answers].sum(axis=1) > 0)
    asked = np.unique(np.concatenate([lessons.asked[i] for i in kept.tolist()]))
    questions = _Questions.of(lessons, kept, asked)
    with threads(config.threads):
        noise = torch.Generator().manual_seed(config.seed)
        model = _Model(lessons.vectors.shape[1], len(asked), targets, config, noise)
        _train(model, questions, torch.from_numpy(targets), config, noise)
        background = _background(model, questions, config)
    return model.lexicon(words, asked, background)


def _words(told: Sequence[Terms]) -> Terms:
    """Return the words of the memories, ascending; of too many, those in most memories."""
    every = np.concatenate([np.unique(terms) for terms in told]) if told else np.zeros(0, np.uint32)
    words, count = np.unique(every, return_counts=True)
    return np.sort(words[np.argsort(-count, kind="stable")[:_MOST_WORDS]]).astype(np.uint32)


def _targets(lessons: Lessons, words: Terms) -> NDArray[np.float32]:
    """Return y, (m, w): rows that add up to 1, or to 0 where a memory has no word."""
    has = np.zeros((len(lessons.told), len(words)), dtype=np.float32)
    for row, terms in enumerate(lessons.told):
        has[row, np.searchsorted(words, np.intersect1d(terms, words))] = 1.0
    count = has.sum(axis=0)
    weighed = has * np.log1p((len(has) - count + 0.5) / (count + 0.5))
    total = weighed.copy()
    for neighbour in lessons.beside.T:
        there = neighbour >= 0
        total[there] += _NEIGHBOUR * weighed[neighbour[there]]
    return np.asarray(total / np.maximum(total.sum(axis=1, keepdims=True), 1e-9), np.float32)


@dataclass(frozen=True, slots=True)
class _Questions:
    vectors: Tensor
    """(n, d)"""
    keywords: Tensor
    """(n, k) places in the embedding table, 0 where there is none."""
    answers: Tensor
    """(n,)"""

    @classmethod
    def of(cls, lessons: Lessons, kept: Rows, asked: Terms) -> "_Questions":
        keywords = np.zeros((len(kept), _MOST_ASKED), dtype=np.int64)
        for row, question in enumerate(kept.tolist()):
            places = 1 + np.searchsorted(asked, lessons.asked[question][:_MOST_ASKED])
            keywords[row, : len(places)] = places
        chosen = np.ascontiguousarray(lessons.vectors[kept]), keywords, lessons.answers[kept]
        return cls(*map(torch.from_numpy, chosen))


class _Model(nn.Module):
    """p(w | q) as in ``seedmem.adapt.Lexicon``, with gradients."""

    def __init__(
        self,
        dim: int,
        asked: int,
        targets: NDArray[np.float32],
        config: LexiconConfig,
        noise: torch.Generator,
    ) -> None:
        super().__init__()
        self.config, self.noise = config, noise
        words, hidden = targets.shape[1], config.hidden
        self.query_map = nn.Parameter(torch.empty(hidden, dim))
        self.query_bias = nn.Parameter(torch.zeros(hidden))
        self.asked_map = nn.Parameter(0.1 * torch.randn(asked + 1, hidden, generator=noise))
        self.word_map = nn.Parameter(torch.empty(words, hidden))
        mass = targets.sum(axis=0) + _LEAST
        self.word_bias = nn.Parameter(torch.from_numpy(np.log(mass / mass.sum())))
        for weight in (self.query_map, self.word_map):
            nn.init.kaiming_uniform_(weight, a=5**0.5, generator=noise)

    def forward(self, vectors: Tensor, keywords: Tensor) -> Tensor:
        """Return log p(w | q), (B, w), for vectors (B, d) and keywords (B, k)."""
        there = keywords > 0
        if self.training:
            there = there & (
                torch.rand(keywords.shape, generator=self.noise) >= self.config.unasked
            )
        known = (self.asked_map[keywords] * there[:, :, None]).sum(dim=1)
        middle = float(SHARPNESS) * F.linear(vectors, self.query_map, self.query_bias) + known
        middle = F.gelu(middle, approximate="tanh")
        if self.training:
            kept = torch.rand(middle.shape, generator=self.noise) >= self.config.dropout
            middle = middle * kept / (1 - self.config.dropout)
        return F.log_softmax(F.linear(middle, self.word_map, self.word_bias), dim=1)

    def lexicon(self, words: Terms, asked: Terms, background: NDArray[np.float32]) -> Lexicon:
        maps = {name: weight.detach().numpy() for name, weight in self.named_parameters()}
        maps["asked_map"] = maps["asked_map"][1:]  # place 0 stands for no keyword
        return Lexicon(words=words, asked=asked, background=background, **maps)


def _train(
    model: _Model,
    questions: _Questions,
    targets: Tensor,
    config: LexiconConfig,
    noise: torch.Generator,
) -> None:
    optimiser = AdamW(model.parameters(), rate=config.learning_rate, decay=config.weight_decay)
    model.train()
    for _ in range(config.epochs):
        shuffled = torch.randperm(len(questions.answers), generator=noise)
        for batch in torch.split(shuffled, config.batch):
            found = model(questions.vectors[batch], questions.keywords[batch])
            wanted = targets[questions.answers[batch]]
            torch.autograd.backward(-(wanted * found).sum(dim=1).mean())
            optimiser.step()


@torch.no_grad()
def _background(model: _Model, questions: _Questions, config: LexiconConfig) -> NDArray[np.float32]:
    """Return log p(w), (w,): of the mean of p(w | q) over the questions."""
    model.eval()
    total = torch.zeros(len(model.word_bias))
    for batch in torch.split(torch.arange(len(questions.answers)), config.batch):
        total += model(questions.vectors[batch], questions.keywords[batch]).exp().sum(dim=0)
    return np.log(total.numpy() / len(questions.answers) + 1e-9)
