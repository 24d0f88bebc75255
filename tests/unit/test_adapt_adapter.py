"""The adapter's forward pass: equal to the equation, harmless as identity, finite always."""

import math

import numpy as np
import pytest

from seedmem.adapt import Activation, Adapter
from seedmem.adapt.weights import gelu
from seedmem.errors import AdapterError, ShapeError
from seedmem.vectors import VectorSpace, unit_rows

SPACE = VectorSpace("hash", 3)


def _adapter(**changes: object) -> Adapter:
    weights = {
        "w1": np.array([[1.0, 0.5, -2.0], [0.25, 0.0, 1.0]]),
        "b1": np.array([0.5, -0.25]),
        "w2": np.array([[0.0, 1.0], [2.0, -0.5], [0.75, 0.125]]),
        "b2": np.array([0.0, 0.5, -1.0]),
    }
    return Adapter(**({"space": SPACE, "version": 3, "alpha": 0.5} | weights | changes))


def _equation(adapter: Adapter, q: list[float], activation: object) -> list[float]:
    """f(q) in plain Python, term by term."""
    middle = []
    for row, bias in zip(adapter.w1, adapter.b1, strict=True):
        total = sum(float(w) * x for w, x in zip(row, q, strict=True)) + float(bias)
        middle.append(activation(total))
    bent = []
    for x, row, bias in zip(q, adapter.w2, adapter.b2, strict=True):
        update = sum(float(w) * m for w, m in zip(row, middle, strict=True)) + float(bias)
        bent.append(x + adapter.alpha * update)
    norm = math.sqrt(sum(x * x for x in bent))
    return [x / norm for x in bent]


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def test_apply_is_the_equation():
    adapter, q = _adapter(), [0.6, 0.0, 0.8]

    bent = adapter.apply(np.array(q, dtype=np.float32))

    assert bent == pytest.approx(_equation(adapter, q, _gelu), abs=1e-6)


def test_a_linear_adapter_has_no_curve():
    adapter, q = _adapter(activation=Activation.NONE), [0.6, 0.0, 0.8]

    bent = adapter.apply(np.array(q, dtype=np.float32))

    assert bent == pytest.approx(_equation(adapter, q, lambda x: x), abs=1e-6)


def test_many_queries_are_bent_as_each_alone():
    adapter = _adapter()
    queries = unit_rows(np.random.default_rng(0).normal(size=(5, 3)))

    together = adapter.apply(queries)

    assert together.shape == (5, 3)
    assert together == pytest.approx(np.stack([adapter.apply(q) for q in queries]), abs=1e-6)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(5), abs=1e-6)


def test_identity_leaves_every_bit():
    queries = unit_rows(np.random.default_rng(1).normal(size=(4, 3)))

    assert np.array_equal(Adapter.identity(SPACE).apply(queries), queries)


def test_gelu_is_near_its_exact_form():
    x = np.linspace(-5, 5, 101, dtype=np.float32)
    exact = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()]

    assert gelu(x) == pytest.approx(exact, abs=5e-4)


def test_weights_are_own_copies_that_cannot_change():
    wide = np.zeros((2, 300))
    adapter = _adapter(w1=wide[:, :3])

    wide[:] = 9.0

    assert not adapter.w1.any()
    assert adapter.w1.base is None
    with pytest.raises(ValueError, match="read-only"):
        adapter.w1[0, 0] = 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e6], ids=["nan", "infinite", "over float16"])
def test_weights_that_are_not_finite_are_refused(bad: float):
    with pytest.raises(AdapterError, match="b2: 1 of 3 weights not finite"):
        _adapter(b2=np.array([0.0, bad, 0.0]))


def test_an_alpha_that_is_not_finite_is_refused():
    with pytest.raises(AdapterError, match="alpha: got nan"):
        _adapter(alpha=math.nan)


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"adapter w2: got shape \(2, 3\), want \(3, 2\)"):
        _adapter(w2=np.zeros((2, 3)))


def test_queries_of_another_dimension_are_refused():
    with pytest.raises(ShapeError, match=r"queries: got shape \(4,\), want \(3,\) or \(n, 3\)"):
        _adapter().apply(np.zeros(4, dtype=np.float32))
