"""Whether this machine runs what is installed: one memory, in a state of its own.

Native code that was built for another processor ends a process without a word, so a
child process tries it first.
"""

import signal
import subprocess
import sys

import numpy as np

from seedmem.encode import Encoder, load_encoder
from seedmem.encode.given import GivenEncoder
from seedmem.memory import Deleted, Kind, Memory
from seedmem.retrieve import Query, retrieve
from seedmem.user import UserState
from seedmem.vectors import Vector, unit
from streams.errors import SelfTestError

TEXT = "tulips by the garden gate"
PATIENCE = 60.0  # seconds for the child process; it needs about 1

_TRIAL = "from streams.selftest import trial; trial()"


def run(encoder: Encoder) -> None:
    """Embed, index, find and forget one memory, first in a child process.

    Raises:
        SelfTestError: says what failed and what to do.
    """
    child = subprocess.run(
        [sys.executable, "-c", _TRIAL],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if child.returncode < 0:
        raise SelfTestError(
            f"native code ended a trial process with {signal.Signals(-child.returncode).name}: "
            "most likely hnswlib was built for another processor; install it again with "
            "HNSWLIB_NO_NATIVE=1 in the environment"
        )
    if child.returncode:
        raise SelfTestError(f"a trial process failed: {child.stderr.strip().splitlines()[-1]}")
    try_out(encoder)


def trial() -> None:
    """Try out all but the encoder: what the child process does. Raises ``SelfTestError``."""
    try_out(load_encoder("hash:16"))


def try_out(encoder: Encoder) -> None:
    """Embed, index, find and forget one memory in this process.

    Raises:
        SelfTestError: the memory was not found, or not forgotten.
        VectorError: the encoder's vector cannot be compared.
    """
    vector = _vector(encoder)
    question = Query(vector=vector, k=1)
    state = UserState(encoder.space, exact_limit=0)  # 0: by a graph, the native code
    state.apply(Memory(memory_id="trial", text=TEXT, vector=vector, sequence=1, born=1))
    if (build := state.dense.plan_build()) is not None:
        build.run()
        state.dense.adopt(build)
    found = [hit.memory_id for hit in retrieve(state, question).hits]
    state.apply(Deleted(kind=Kind.MEMORY, id="trial", sequence=2))
    left = [hit.memory_id for hit in retrieve(state, question).hits]
    if (found, left) != (["trial"], []):
        raise SelfTestError(
            f"one memory was indexed and forgotten, want ['trial'] and [] found, got {found} "
            f"and {left}; encoder {encoder.space}"
        )


def _vector(encoder: Encoder) -> Vector:
    if isinstance(encoder, GivenEncoder):
        return unit(np.ones(encoder.space.dim, dtype=np.float32))
    return unit(encoder.encode([TEXT])[0])
