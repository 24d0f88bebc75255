"""How to fit; the ablations are settings."""

from dataclasses import dataclass
from typing import Literal

from seedmem.adapt import Activation


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """One way to fit an adapter. ``docs/adapters.md`` has what each choice is worth."""

    activation: Activation = Activation.GELU
    """``NONE`` makes the map linear, of rank ``hidden``; full rank where that is d."""
    hidden: int = 128
    """h of the whole adapter, shared out to the members."""
    members: int = 8
    """Models whose mean is the adapter; each is stopped on another part of the questions."""
    alpha: float = 1.0
    """α: how far a query may be bent."""
    objective: Literal["info-nce", "pairwise"] = "info-nce"
    temperature: float = 0.05
    """τ."""
    subject_weight: float = 0.2
    """w_subj; 0 leaves subjects out."""
    recovery_weight: float = 0.5
    """w_recon; 0 lets the query go anywhere."""
    negatives: Literal["batch", "corpus"] = "corpus"
    """Whom a gold must beat: the batch's golds and hard negatives, or all memories of the user."""
    hard_negatives: int = 8
    """Most hard negatives that a pair brings into its batch; 0 for none."""
    dropout: float = 0.1
    """Share of middle units left out of a training step."""
    weight_decay: float = 0.01
    learning_rate: float = 1e-3
    batch: int = 16
    """Pairs per step."""
    epochs: int = 200
    """Most epochs."""
    patience: int | None = 10
    """Epochs without a better held-out loss before a member stops, and goes back to the best.
    None holds nothing out and runs all epochs."""
    seed: int = 0
    threads: int = 1
    """Most threads that torch may use."""


PUBLISHED = FitConfig(members=1, alpha=0.3, negatives="batch", batch=64)
"""The published recipe, to compare with: one model, held out once."""

LABEL_FREE = FitConfig(members=1, learning_rate=2e-3, batch=128, epochs=20, patience=None)
"""For pseudo-queries, of which a user has thousands. What it shall learn is how these very
memories are put, so holding some out to stop early costs more than it saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconConfig:
    """How to fit a lexicon."""

    hidden: int = 64
    """h, the width of the middle layer."""
    unasked: float = 0.5
    """Share of a question's keywords that are left out of a training step."""
    dropout: float = 0.2
    """Share of middle units left out of a training step."""
    weight_decay: float = 0.01
    learning_rate: float = 2e-3
    batch: int = 128
    """Questions per step."""
    epochs: int = 20
    seed: int = 0
    threads: int = 1
    """Most threads that torch may use."""
