"""The weights of the features, by mode, and of the confidence: shipped as JSON in this package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Self

from seedmem.retrieve.query import Mode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Confidence:
    """A logistic model of "the memories answer this question"."""

    clues: Mapping[str, float] = field(default_factory=dict)
    """Weight of each clue."""
    bias: float = 0.0
    threshold: float = 0.0
    """A confidence below it abstains."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """What a score is made of. A feature that has no weight counts nothing and costs nothing."""

    lookup: Mapping[str, float]
    personal: Mapping[str, float] = field(default_factory=dict)
    """In place of ``lookup`` where a user's lexicon serves; empty means ``lookup`` there too."""
    association: Mapping[str, float] = field(default_factory=dict)
    confidence: Confidence = field(default_factory=Confidence)
    fitted_on: tuple[str, ...] = ()
    """Names of the data sets that the weights have seen."""
    command: str = ""
    """What fits them again."""

    def of(self, mode: Mode, *, personal: bool = False) -> Mapping[str, float]:
        """Return the weight of each feature in a mode, for a user with a lexicon or without."""
        if mode == "association":
            return self.association
        return self.personal if personal and self.personal else self.lookup

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the weights of a file.

        Raises:
            ValueError: it is not JSON, or lacks a field.
        """
        try:
            fields = json.loads(text)
            confidence = Confidence(**fields.pop("confidence"))
            fitted_on = tuple(fields.pop("fitted_on"))
            return cls(**fields, confidence=confidence, fitted_on=fitted_on)
        except (TypeError, KeyError) as error:
            raise ValueError(f"these are no weights: {error}") from error

    def to_json(self) -> str:
        """Return the form that ``from_json`` reads, with four decimals."""
        fields: dict[str, Any] = {
            "lookup": _rounded(self.lookup),
            "personal": _rounded(self.personal),
            "association": _rounded(self.association),
            "confidence": {
                "clues": _rounded(self.confidence.clues),
                "bias": round(self.confidence.bias, 4),
                "threshold": round(self.confidence.threshold, 4),
            },
            "fitted_on": list(self.fitted_on),
            "command": self.command,
        }
        return json.dumps(fields, indent=2) + "\n"


@cache
def shipped() -> Weights:
    """Return the weights of this package, read once."""
    file = resources.files("seedmem.retrieve").joinpath("weights.json")
    return Weights.from_json(file.read_text(encoding="utf-8"))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in weights.items()}
