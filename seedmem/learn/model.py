"""The adapter as a torch module: the same equation as ``seedmem.adapt``, with gradients."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from seedmem.adapt import Activation, Adapter
from seedmem.vectors import VectorSpace


class Residual(nn.Module):
    """f(q) = normalize(q + α · (W₂ · g(W₁ q + b₁) + b₂)); W₂ and b₂ start at zero, so f(q) = q.

    W₁ is drawn from ``noise``, and so is dropout: no global state is touched.
    """

    def __init__(
        self,
        dim: int,
        hidden: int,
        *,
        alpha: float,
        activation: Activation,
        dropout: float,
        noise: torch.Generator,
    ) -> None:
        super().__init__()
        self.alpha, self.activation, self.dropout, self.noise = alpha, activation, dropout, noise
        self.w1, self.b1 = nn.Parameter(torch.empty(hidden, dim)), nn.Parameter(torch.zeros(hidden))
        self.w2, self.b2 = nn.Parameter(torch.zeros(dim, hidden)), nn.Parameter(torch.zeros(dim))
        nn.init.kaiming_uniform_(self.w1, a=5**0.5, generator=noise)

    def forward(self, queries: Tensor) -> Tensor:
        """Return f of each row; (B, d) to (B, d), unit rows."""
        middle = F.linear(queries, self.w1, self.b1)  # (B, h)
        if self.activation is Activation.GELU:
            middle = F.gelu(middle, approximate="tanh")
        if self.training and self.dropout > 0:
            kept = torch.rand(middle.shape, generator=self.noise) >= self.dropout
            middle = middle * kept / (1 - self.dropout)
        return F.normalize(queries + self.alpha * F.linear(middle, self.w2, self.b2), dim=1)


def committee(models: Sequence[Residual], space: VectorSpace, version: int) -> Adapter:
    """Return one adapter that bends by the mean of ``models``: their middle layers side by side.

    Raises:
        AdapterError: training ended in a weight that is not finite.
    """
    w1, b1, w2, b2 = (
        [getattr(model, name).detach().numpy() for model in models]
        for name in ("w1", "b1", "w2", "b2")
    )
    return Adapter(
        space=space,
        version=version,
        alpha=models[0].alpha,
        activation=models[0].activation,
        w1=np.concatenate(w1),
        b1=np.concatenate(b1),
        w2=(np.concatenate(w2, axis=1) / len(models)).astype(np.float32),
        b2=np.mean(b2, axis=0),
    )
