"""What the models of a user have in common: numbers of float16, and GELU."""

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import AdapterError

_GELU_SLOPE = np.float32(np.sqrt(2 / np.pi))
_GELU_CUBIC = np.float32(0.044715)


def gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return GELU of each element, in its tanh form (torch: ``approximate="tanh"``).

    Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units (GELUs)", section 2.
    """
    cubic: NDArray[np.float32] = x + _GELU_CUBIC * x * x * x
    curved: NDArray[np.float32] = np.float32(0.5) * x * (1 + np.tanh(_GELU_SLOPE * cubic))
    return curved


def served(name: str, weight: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return an own, read-only copy of ``weight``, rounded to float16.

    Raises:
        AdapterError: a number is not finite in float16.
    """
    with np.errstate(over="ignore"):  # too large becomes infinite, which is refused below
        rounded = np.asarray(weight, dtype=np.float16).astype(np.float32)
    if not np.isfinite(rounded).all():
        bad = int(np.count_nonzero(~np.isfinite(rounded)))
        raise AdapterError(f"adapter {name}: {bad} of {rounded.size} weights not finite in float16")
    rounded.setflags(write=False)
    return rounded
