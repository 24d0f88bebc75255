"""The query adapter: a small residual model that bends a query toward its user's memories."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt.lexicon import Lexicon
from seedmem.adapt.weights import gelu, served
from seedmem.errors import AdapterError, ShapeError
from seedmem.vectors import Vector, VectorSpace, unit_rows


class Activation(StrEnum):
    """What stands between the two layers."""

    GELU = "gelu"
    NONE = "none"
    """Two layers without one are a linear map of rank ≤ h."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adapter:
    """A user's query adapter::

        f(q) = normalize(q + α · (W₂ · g(W₁ q + b₁) + b₂)),   d → h → d

    Weights are read-only float32 arrays that hold float16 numbers, rounded when
    the adapter is made: what was judged, what is stored and what serves are one.

    Raises:
        AdapterError: a weight or α is not finite in float16.
        ShapeError: the weights do not fit together or the space.
    """

    space: VectorSpace
    version: int
    """Number of the promotion; 0 is the identity that every user starts with."""
    alpha: float
    """α: how far a query may be bent; 0.3 in the published model."""
    activation: Activation = Activation.GELU
    w1: NDArray[np.float32]
    """(h, d)"""
    b1: NDArray[np.float32]
    """(h,)"""
    w2: NDArray[np.float32]
    """(d, h)"""
    b2: NDArray[np.float32]
    """(d,)"""
    lexicon: Lexicon | None = None
    """What else was learned of the user: which words a question reaches for."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.alpha):
            raise AdapterError(f"adapter alpha: got {self.alpha}, want a finite number")
        for name, want in shapes(self.space.dim, self.hidden).items():
            weight = getattr(self, name)
            if weight.shape != want:
                raise ShapeError(f"adapter {name}", got=weight.shape, want=want)
            object.__setattr__(self, name, served(name, weight))
        if self.lexicon is not None and self.lexicon.dim != self.space.dim:
            raise ShapeError("lexicon", got=(self.lexicon.dim,), want=(self.space.dim,))

    @classmethod
    def identity(cls, space: VectorSpace) -> Self:
        """Return the adapter that leaves every query as it is, bit for bit."""
        w1, b1, w2, b2 = (np.zeros(shape, np.float32) for shape in shapes(space.dim, 0).values())
        return cls(space=space, version=0, alpha=0.0, w1=w1, b1=b1, w2=w2, b2=b2)

    @property
    def hidden(self) -> int:
        """h, the width of the middle layer; 0 in the identity."""
        return int(self.b1.size)

    @property
    def nbytes(self) -> int:
        """Bytes of RAM that the weights take."""
        lexicon = 0 if self.lexicon is None else self.lexicon.nbytes
        return self.w1.nbytes + self.b1.nbytes + self.w2.nbytes + self.b2.nbytes + lexicon

    def apply(self, queries: Vector) -> Vector:
        """Return f of one query (d,) or of each row (n, d); unit rows in, unit rows out.

        Raises:
            ShapeError: the last axis is not d.
        """
        if queries.ndim not in (1, 2) or queries.shape[-1] != self.space.dim:
            want = f"({self.space.dim},) or (n, {self.space.dim})"
            raise ShapeError("queries", got=queries.shape, want=want)
        if self.hidden == 0:
            return queries
        rows = np.atleast_2d(queries)
        middle = rows @ self.w1.T + self.b1  # (n, h)
        if self.activation is Activation.GELU:
            middle = gelu(middle)
        bent = rows + np.float32(self.alpha) * (middle @ self.w2.T + self.b2)  # (n, d)
        return unit_rows(bent).reshape(queries.shape)


def shapes(dim: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of an adapter d → h → d, in the order they are stored."""
    return {"w1": (hidden, dim), "b1": (hidden,), "w2": (dim, hidden), "b2": (dim,)}
