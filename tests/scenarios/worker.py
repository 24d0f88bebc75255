"""A worker that fails on command: run as a program, it is ``seedmem worker`` with a faulty encoder.

A text with the word HOLD is held in work for as long as the file of the first
argument exists, and the file then says so; one with BREAK raises what no encoder should.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import streams.app
from seedmem.encode import Encoder, load_encoder
from seedmem.vectors import Matrix
from streams.settings import Settings


class FaultyEncoder:
    """``encoder``, but for two words."""

    def __init__(self, encoder: Encoder, hold: Path) -> None:
        self._encoder, self._hold, self.space = encoder, hold, encoder.space

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows, when nothing holds or breaks."""
        if any("HOLD" in text for text in texts):
            self._wait()
        if any("BREAK" in text for text in texts):
            raise RuntimeError("told to break")
        return self._encoder.encode(texts)

    def _wait(self) -> None:
        if self._hold.exists():
            self._hold.write_text("held")
        while self._hold.exists():
            time.sleep(0.05)


def main() -> None:
    """Run one worker with the settings of the environment."""
    hold = Path(sys.argv[1])
    streams.app.load_encoder = lambda name, **options: FaultyEncoder(  # type: ignore[assignment]
        load_encoder(name, **options), hold
    )
    streams.app.run(Settings.from_env())


if __name__ == "__main__":
    main()
