"""A user who remembers in one language and asks, by half, in another: a map that can be learned."""

from collections.abc import Callable
from itertools import combinations

from streams.events import MemoryCreated, MemoryRecalled

_WORDS = {  # as it is remembered: as it is asked for
    "harbour": "port",
    "violin": "fiddle",
    "orchard": "trees",
    "kettle": "pot",
    "lantern": "lamp",
    "meadow": "field",
    "saddle": "leather",
    "pebble": "stone",
    "compass": "needle",
    "ribbon": "bow",
}
_TWO = list(combinations(_WORDS, 2))

MEMORIES = [f"{one} {other}" for one, other in _TWO]
QUESTIONS = [
    f"{_WORDS[one]} {other}" if number % 2 else f"{_WORDS[other]} {one}"
    for number, (one, other) in enumerate(_TWO)
]
"""Question i means memory i."""


def memories(user_id: str) -> list[MemoryCreated]:
    return [
        MemoryCreated(user_id=user_id, memory_id=f"m{n}", text=text)
        for n, text in enumerate(MEMORIES)
    ]


def recalls(user_id: str, *, answer: Callable[[int], int] = lambda n: n) -> list[MemoryRecalled]:
    """One pair a question; ``answer`` names the memory that question ``n`` is said to mean."""
    return [
        MemoryRecalled(user_id=user_id, memory_id=f"m{answer(n)}", query=text)
        for n, text in enumerate(QUESTIONS)
    ]
