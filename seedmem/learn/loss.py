"""The losses of the query adapter. Equations in letters, shapes on the line."""

import torch
import torch.nn.functional as F  # noqa: N812  (the name that every torch reader knows)
from torch import Tensor

from seedmem.errors import ShapeError


def info_nce(
    cosines: Tensor, targets: Tensor, *, masked: Tensor | None = None, temperature: float = 0.05
) -> Tensor:
    """Return the InfoNCE loss of a batch, in nats.

    Each anchor must pick its own positive out of all candidates::

        L = -(1/B) Σᵢ log [ exp(sᵢₜ/τ) / Σⱼ exp(sᵢⱼ/τ) ],   t the target of i, j not masked

    Args:
        cosines: (B, C). s: each anchor against each candidate, in-batch and hard negatives alike.
        targets: (B,) int. Column of each anchor's positive; never masked, whatever ``masked`` says.
        masked: (B, C) bool. True where a candidate is no negative of that anchor: a duplicate of
            its positive, or another of its known positives. None masks nothing.
        temperature: τ > 0, dimensionless. Smaller punishes near misses more.

    Returns:
        A scalar in [0, ∞); log C when every candidate looks alike and none is masked.

    Raises:
        ShapeError: the arguments disagree on B or C.
        ValueError: ``temperature`` is not positive.

    Source: van den Oord et al. 2018, "Representation Learning with Contrastive Predictive
    Coding"; hard negatives as in Karpukhin et al. 2020, "Dense Passage Retrieval".
    """
    logits = _masked_logits(cosines, targets, masked, temperature)
    return F.cross_entropy(logits, targets)


def pairwise(
    cosines: Tensor, targets: Tensor, *, masked: Tensor | None = None, temperature: float = 0.05
) -> Tensor:
    """Return the mean logistic loss of (positive, negative) pairs, in nats::

        L = mean over i, j ≠ t, j not masked, of log(1 + exp((sᵢⱼ − sᵢₜ)/τ))

    Arguments and errors as in ``info_nce``. A scalar in [0, ∞); 0 when nothing is left to compare.

    Source: the ranking loss of Yoon et al. 2024, "Search-Adaptor", with binary relevance.
    """
    logits = _masked_logits(cosines, targets, masked, temperature)
    own = logits.gather(1, targets[:, None])  # (B, 1)
    counts = torch.isfinite(logits).scatter(1, targets[:, None], value=False)  # (B, C)
    losses = F.softplus((logits - own)[counts])
    return losses.mean() if losses.numel() else own.sum() * 0.0


def recovery(adapted: Tensor, queries: Tensor) -> Tensor:
    """Return the mean of ‖f(q) − q‖² over the batch; both (B, d), unit rows. In [0, 4]."""
    return (adapted - queries).square().sum(dim=1).mean()


def _masked_logits(
    cosines: Tensor, targets: Tensor, masked: Tensor | None, temperature: float
) -> Tensor:
    """Return s/τ, (B, C), with −∞ where masked, but never at a target."""
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    if cosines.ndim != 2 or targets.shape != cosines.shape[:1]:
        raise ShapeError("targets", got=tuple(targets.shape), want=f"({len(cosines)},)")
    if masked is None:
        return cosines / temperature
    if masked.shape != cosines.shape:
        raise ShapeError("masked", got=tuple(masked.shape), want=tuple(cosines.shape))
    hidden = masked.scatter(1, targets[:, None], value=False)
    return (cosines / temperature).masked_fill(hidden, -torch.inf)
