"""Vectors: the space they live in, unit norm, and their wire forms.

A stored vector is float16 (half the bytes; cosines change by less than 1e-3),
a computed one float32.
"""

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import VectorError

Vector = NDArray[np.float32]  # (d,), unit norm unless said otherwise
Matrix = NDArray[np.float32]  # (n, d), unit rows unless said otherwise

_UNIT_TOLERANCE = 1e-2  # of a squared norm; float16 storage moves it by 1e-3
_SMALLEST_NORM = 1e-12  # below it a float32 vector has no usable direction


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Where a vector lives: only vectors of one encoder can be compared."""

    encoder: str
    dim: int

    def __str__(self) -> str:
        return f"{self.encoder}/{self.dim}"


def unit(vector: NDArray[np.floating]) -> Vector:
    """Return ``vector``, shape (d,), as float32 of unit length.

    Raises:
        VectorError: a component is NaN or infinite, or all are (nearly) zero.
    """
    wide = np.asarray(vector, dtype=np.float64)
    norm = math.sqrt(wide @ wide)
    if not math.isfinite(norm):
        if np.isfinite(wide).all():
            raise VectorError("vector is too long for its norm to be computed")
        raise VectorError("vector has a component that is NaN or infinite")
    if norm < _SMALLEST_NORM:
        raise VectorError(f"vector has no direction: its norm is {norm:g}")
    return (wide / norm).astype(np.float32)


def unit_rows(matrix: NDArray[np.floating]) -> Matrix:
    """Return ``matrix``, shape (n, d), with each row scaled to unit length; zero rows stay zero."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.maximum(norms, _SMALLEST_NORM), dtype=np.float32)


def require_unit_rows(matrix: Matrix, dim: int) -> None:
    """Raise ``VectorError`` unless ``matrix`` is (n, dim) with rows of about unit length."""
    if matrix.shape[1:] != (dim,):
        raise VectorError(f"vectors are {matrix.shape}, want (n, {dim})")
    squares = np.einsum("nd,nd->n", matrix, matrix)
    if not (np.abs(squares - 1.0) < _UNIT_TOLERANCE).all():  # NaN is refused too
        raise VectorError(f"vector is not of unit length: squared norms {squares}")


def from_wire(value: str | Sequence[float], dim: int) -> Vector:
    """Return the unit vector that an event carries.

    Args:
        value: ``dim`` numbers, or base64 of ``dim`` little-endian float32.
        dim: d of the space that the vector must fit.

    Raises:
        VectorError: not base64, another length than ``dim``, or no direction.
    """
    if isinstance(value, str):
        try:
            raw = binascii.a2b_base64(value, strict_mode=True)
        except ValueError as error:  # binascii.Error is one
            raise VectorError(f"vector is a string but not base64: {error}") from error
        if len(raw) != 4 * dim:
            raise VectorError(f"vector has {len(raw)} bytes, want {4 * dim} (float32 × {dim})")
        return unit(np.frombuffer(raw, dtype="<f4"))
    if len(value) != dim:
        raise VectorError(f"vector has {len(value)} components, want {dim}")
    return unit(np.asarray(value, dtype=np.float64))


def to_wire(vector: NDArray[np.floating]) -> str:
    """Return ``vector``, shape (d,), as base64 of little-endian float32."""
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def pack(vector: Vector) -> bytes:
    """Return the stored form of a unit vector: little-endian float16, 2·d bytes."""
    return np.asarray(vector, dtype="<f2").tobytes()


def unpack(raw: bytes, dim: int) -> Vector:
    """Return the unit vector of a stored form.

    Raises:
        VectorError: ``raw`` is not 2·``dim`` bytes.
    """
    if len(raw) != 2 * dim:
        raise VectorError(f"stored vector has {len(raw)} bytes, want {2 * dim} (float16 × {dim})")
    return unit(np.frombuffer(raw, dtype="<f2"))
