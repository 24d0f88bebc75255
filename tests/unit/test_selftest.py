"""The trial before a worker joins its group."""

import signal

import numpy as np
import pytest

from seedmem.encode import load_encoder
from seedmem.errors import VectorError
from seedmem.vectors import VectorSpace
from streams import selftest
from streams.errors import SelfTestError


@pytest.mark.parametrize("name", ["hash:64", "given:8"])
def test_a_sound_machine_passes(name):
    selftest.run(load_encoder(name))


def test_f38_native_code_of_another_processor_is_named_as_the_cause(monkeypatch):
    # What a child process sees on a processor that lacks an instruction.
    illegal = f"import os; os.kill(os.getpid(), {signal.SIGILL:d})"
    monkeypatch.setattr(selftest, "_TRIAL", illegal)

    with pytest.raises(SelfTestError, match=r"SIGILL.*HNSWLIB_NO_NATIVE=1"):
        selftest.run(load_encoder("hash:64"))


def test_a_trial_that_fails_says_why(monkeypatch):
    monkeypatch.setattr(selftest, "_TRIAL", "import no_such_library")

    with pytest.raises(SelfTestError, match="No module named 'no_such_library'"):
        selftest.run(load_encoder("hash:64"))


def test_an_encoder_of_noise_is_found_out(monkeypatch):
    monkeypatch.setattr(selftest, "_TRIAL", "pass")

    with pytest.raises(VectorError):
        selftest.run(NotANumber())


class NotANumber:
    """An encoder whose vectors cannot be compared."""

    space = VectorSpace("broken", 3)

    def encode(self, texts):
        return np.full((len(texts), 3), np.nan, dtype=np.float32)
