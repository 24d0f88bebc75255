"""How sure an answer is: a logistic model over a few clues of its scores."""

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.features import Features
from seedmem.retrieve.weights import Confidence

CLUES = ("top", "margin", "closeness", "coverage", "speaker")


def clues(
    features: Features, scores: NDArray[np.float64], best: NDArray[np.intp]
) -> dict[str, float]:
    """Return what tells an answer from a guess.

    Args:
        features: of the query.
        scores: (rows,), of all memories.
        best: the hits' rows, best first; at least one.
    """
    first, second = best[0], best[min(1, len(best) - 1)]
    known = scores[features.candidates.sample]
    asked = bool(features.question.speakers)
    return {
        "top": float((scores[first] - known.mean()) / max(float(known.std()), 1e-6)),
        "margin": float(scores[first] - scores[second]),
        "closeness": float(features.dense[first]),
        "coverage": float(features.keyword_window[first]),
        "speaker": float(features.speaker[first]) if asked else 0.5,
    }


def confidence(
    features: Features,
    scores: NDArray[np.float64],
    best: NDArray[np.intp],
    model: Confidence,
) -> float:
    """Return the chance, 0 to 1, that the memories answer the question; ½ without a model."""
    if not model.clues:
        return 0.5
    found = clues(features, scores, best)
    logit = model.bias + sum(weight * found[name] for name, weight in model.clues.items())
    return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0))))
