"""AdamW, written out: torch's own loads its compiler, 170 MB and seconds at the first step."""

from collections.abc import Iterable

import torch
from torch import Tensor

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # of the paper


class AdamW:
    """Adam with decoupled weight decay::

        m ← β₁ m + (1 − β₁) g      v ← β₂ v + (1 − β₂) g²
        θ ← θ − η · λ · θ − η · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)

    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2, with
    λ scaled by η as torch does.
    """

    def __init__(self, weights: Iterable[Tensor], *, rate: float, decay: float) -> None:
        """Take the weights to move, η = ``rate`` and λ = ``decay``."""
        self.rate, self.decay, self.steps = rate, decay, 0
        self.moments = [(w, torch.zeros_like(w), torch.zeros_like(w)) for w in weights]

    @torch.no_grad()
    def step(self) -> None:
        """Move every weight by its gradient, and forget the gradient."""
        self.steps += 1
        for weight, mean, square in self.moments:
            gradient = weight.grad
            if gradient is None:
                continue
            mean.lerp_(gradient, 1 - _BETA1)
            square.lerp_(gradient.square(), 1 - _BETA2)
            weight.mul_(1 - self.rate * self.decay)
            root = (square / (1 - _BETA2**self.steps)).sqrt_().add_(_EPSILON)
            weight.addcdiv_(mean, root, value=-self.rate / (1 - _BETA1**self.steps))
            weight.grad = None
