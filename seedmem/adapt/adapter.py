"""The query adapter: a small residual model that bends a query toward its user's memories."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import AdapterError, ShapeError
from seedmem.vectors import Vector, VectorSpace, unit_rows

_GELU_SLOPE = np.float32(np.sqrt(2 / np.pi))
_GELU_CUBIC = np.float32(0.044715)


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

    def __post_init__(self) -> None:
        if not np.isfinite(self.alpha):
            raise AdapterError(f"adapter alpha: got {self.alpha}, want a finite number")
        for name, want in shapes(self.space.dim, self.hidden).items():
            weight = getattr(self, name)
            if weight.shape != want:
                raise ShapeError(f"adapter {name}", got=weight.shape, want=want)
            object.__setattr__(self, name, _served(name, weight))

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
        return self.w1.nbytes + self.b1.nbytes + self.w2.nbytes + self.b2.nbytes

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


def gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return GELU of each element, in its tanh form (torch: ``approximate="tanh"``).

    Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units (GELUs)", section 2.
    """
    cubic: NDArray[np.float32] = x + _GELU_CUBIC * x * x * x
    curved: NDArray[np.float32] = np.float32(0.5) * x * (1 + np.tanh(_GELU_SLOPE * cubic))
    return curved


def _served(name: str, weight: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return an own, read-only copy of ``weight``, rounded to float16."""
    with np.errstate(over="ignore"):  # too large becomes infinite, which is refused below
        rounded = np.asarray(weight, dtype=np.float16).astype(np.float32)
    if not np.isfinite(rounded).all():
        bad = int(np.count_nonzero(~np.isfinite(rounded)))
        raise AdapterError(f"adapter {name}: {bad} of {rounded.size} weights not finite in float16")
    rounded.setflags(write=False)
    return rounded
