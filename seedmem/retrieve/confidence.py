"""How sure an answer is: a logistic model over a few clues of its scores."""

import numpy as np

from seedmem.retrieve.rank import Ranking
from seedmem.retrieve.weights import Confidence

CLUES = ("top", "margin", "closeness", "coverage", "speaker", "elsewhere")


def clues(ranking: Ranking) -> dict[str, float]:
    """Return what tells an answer from a guess; the ranking holds at least one row.

    ``top``: the best score, in standard scores; ``margin``: its lead over the second;
    ``closeness``, ``coverage``, ``speaker``: meaning, keywords and speaker of the best memory;
    ``elsewhere``: by how much somebody else's memory fits better than any of whom is asked about.
    """
    features, scores, rows = ranking.features, ranking.scores, ranking.rows
    first, second = rows[0], rows[min(1, len(rows) - 1)]
    known = scores[features.candidates.sample]
    return {
        "top": float((scores[first] - known.mean()) / max(float(known.std()), 1e-6)),
        "margin": float(scores[first] - scores[second]),
        "closeness": float(features.dense[first]),
        "coverage": float(features.keyword_window[first]),
        "speaker": float(features.speaker[first]) if features.question.speakers else 0.5,
        "elsewhere": _elsewhere(ranking),
    }


def confidence(ranking: Ranking, model: Confidence) -> float:
    """Return the chance, 0 to 1, that the memories answer the question; ½ without a model."""
    if not model.clues:
        return 0.5
    found = clues(ranking)
    logit = model.bias + sum(weight * found[name] for name, weight in model.clues.items())
    return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0))))


def _elsewhere(ranking: Ranking) -> float:
    features = ranking.features
    asked = features.speaker > 0
    theirs = features.candidates.scored & asked
    others = features.candidates.scored & ~asked
    if not theirs.any() or not others.any():
        return 0.0
    fits = ranking.scores - ranking.shares.get("speaker", np.float32(0.0))
    return float(fits[others].max() - fits[theirs].max())
