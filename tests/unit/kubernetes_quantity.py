"""Quantities of Kubernetes, as numbers."""

_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def in_bytes(quantity: str) -> int:
    """Return the bytes that for example ``512Mi`` is."""
    return int(quantity[:-2]) * _UNITS[quantity[-2:]]


def in_cpus(quantity: str) -> float:
    """Return the CPUs that for example ``500m`` is."""
    return int(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)
