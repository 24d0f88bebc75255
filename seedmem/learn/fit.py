"""Fit one user's adapter: small, seeded, on capped threads, stopped before it overfits."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from seedmem.adapt import Adapter
from seedmem.errors import SupervisionError
from seedmem.learn.config import FitConfig
from seedmem.learn.examples import Corpus, Examples, Rows, apart, folds
from seedmem.learn.loss import info_nce, pairwise, recovery
from seedmem.learn.model import Residual, committee
from seedmem.learn.optimiser import AdamW
from seedmem.learn.tables import Table, memory_table, subject_table
from seedmem.learn.threads import threads

_OBJECTIVES = {"info-nce": info_nce, "pairwise": pairwise}
_FEWEST_FOLDS = 5  # so that a member is stopped on a fifth of the questions at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The outcome of a fit."""

    adapter: Adapter
    questions: int
    """Questions given."""
    epochs: tuple[int, ...]
    """That each member was trained for, up to its best; 0: none beat the start, f(q) = q."""
    loss_before: float
    """Of f(q) = q on the held-out parts (on everything, if none are), mean over members, nats."""
    loss_after: float
    """The same of the members; where parts are held out, never above ``loss_before``."""


def fit(
    examples: Examples, corpus: Corpus, *, version: int, config: FitConfig | None = None
) -> Fitted:
    """Return an adapter fitted to ``examples``; the same bytes for the same arguments.

    Each member trains on all parts of the questions but one, and stops at the epoch that serves
    that one best; no memory answers on both sides. The start, f(q) = q, is among the choices.

    Raises:
        SupervisionError: too few questions that share no answer.
        AdapterError: the fit ended in weights that are not finite.
    """
    config = config or FitConfig()
    parts = _parts(examples, config)
    if not all(training.size and held_out.size for training, held_out in parts):
        raise SupervisionError(f"{len(examples)} questions, too few to hold some out from the rest")
    with threads(config.threads):
        tables = memory_table(examples, corpus, config), subject_table(examples, corpus)
        members = [
            _Member(examples, *tables, replace(config, seed=config.seed + member))
            for member in range(config.members)
        ]
        for member, (training, held_out) in zip(members, parts, strict=True):
            member.train(training, held_out)
    return Fitted(
        adapter=committee([member.model for member in members], corpus.space, version),
        questions=len(examples),
        epochs=tuple(member.epoch for member in members),
        loss_before=float(np.mean([member.loss_before for member in members])),
        loss_after=float(np.mean([member.loss_after for member in members])),
    )


def _parts(examples: Examples, config: FitConfig) -> list[tuple[Rows, Rows]]:
    """Return, for each member, the questions that train it and those that stop it."""
    if config.patience is None:
        everything = np.arange(len(examples))
        return [(everything, everything)] * config.members
    fold = folds(examples.golds, count=max(config.members, _FEWEST_FOLDS), seed=config.seed)
    return [apart(examples.golds, fold, member) for member in range(config.members)]


class _Member:
    """One model of the committee, its optimiser, and how its training went."""

    def __init__(
        self, examples: Examples, memories: Table, subjects: Table, config: FitConfig
    ) -> None:
        self.config, self.memories, self.subjects = config, memories, subjects
        self.queries = torch.from_numpy(np.array(examples.queries))
        self.noise = torch.Generator().manual_seed(config.seed)
        self.model = Residual(
            self.queries.shape[1],
            max(config.hidden // config.members, 1),
            alpha=config.alpha,
            activation=config.activation,
            dropout=config.dropout,
            noise=self.noise,
        )
        self.optimiser = AdamW(
            self.model.parameters(), rate=config.learning_rate, decay=config.weight_decay
        )
        self.epoch, self.loss_before, self.loss_after = 0, 0.0, 0.0

    def train(self, training: Rows, held_out: Rows) -> None:
        """Train until ``held_out`` gains no more, then go back to the best epoch."""
        self.loss_before = self.loss_after = self.held_out_loss(held_out)
        if self.config.patience is None:
            for _ in range(self.config.epochs):
                self.train_epoch(training)
            self.epoch = self.config.epochs
            self.loss_after = self.held_out_loss(held_out)
        else:
            self.train_to_the_best(training, held_out, self.config.patience)

    def train_to_the_best(self, training: Rows, held_out: Rows, patience: int) -> None:
        best = copy.deepcopy(self.model.state_dict())
        for epoch in range(1, self.config.epochs + 1):
            self.train_epoch(training)
            loss = self.held_out_loss(held_out)
            if loss < self.loss_after:
                self.epoch, self.loss_after = epoch, loss
                best = copy.deepcopy(self.model.state_dict())
            elif epoch - self.epoch >= patience:
                break
        self.model.load_state_dict(best)

    def train_epoch(self, training: Rows) -> None:
        """Take one step per batch of shuffled (question, gold) pairs."""
        pairs = self.memories.pairs_of(training)
        shuffled = pairs[torch.randperm(len(pairs), generator=self.noise)]
        self.model.train()
        for batch in torch.split(shuffled, self.config.batch):
            torch.autograd.backward(self.loss(batch))
            self.optimiser.step()

    def loss(self, batch: Tensor) -> Tensor:
        """Return InfoNCE(f(q), m⁺) + w_subj · InfoNCE(f(q), s⁺) + w_recon · ‖f(q) − q‖²."""
        queries = self.queries[self.memories.question[batch]]  # (B, d)
        adapted = self.model(queries)
        loss = self.contrast(adapted, self.memories, batch, self.memories.candidates(batch))
        about = self.subjects.target[batch] >= 0  # pairs whose memory has a subject
        if self.config.subject_weight and bool(about.any()):
            named = batch[about]
            rows = self.subjects.candidates(named)
            near = self.contrast(adapted[about], self.subjects, named, rows)
            loss = loss + self.config.subject_weight * near
        return loss + self.config.recovery_weight * recovery(adapted, queries)

    def contrast(self, adapted: Tensor, table: Table, batch: Tensor, rows: Tensor) -> Tensor:
        """Return the ranking loss of ``adapted``, (B, d), against ``rows``, (C,), of ``table``."""
        cosines = adapted @ table.vectors[rows].T  # (B, C)
        targets = torch.searchsorted(rows, table.target[batch])
        masked = (table.known[batch][:, :, None] == rows).any(dim=1)  # (B, C)
        objective = _OBJECTIVES[self.config.objective]
        return objective(cosines, targets, masked=masked, temperature=self.config.temperature)

    @torch.no_grad()
    def held_out_loss(self, held_out: Rows) -> float:
        """Return the ranking loss of the held-out pairs against every memory, nats."""
        self.model.eval()
        batch = self.memories.pairs_of(held_out)
        adapted = self.model(self.queries[self.memories.question[batch]])
        return float(self.contrast(adapted, self.memories, batch, self.memories.every))
