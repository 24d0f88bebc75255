"""A retrain worker that fits in a second: run as a program, it is ``seedmem worker``.

With a file as its argument its jobs stop where that file says, for as long as it says so:
``before the fit``, or when the job has ``decided``. A file ``held`` beside it then says where.
"""

import functools
import sys
import time
from pathlib import Path
from typing import Any

import streams.agents.retraining
import streams.app
import streams.learning
from seedmem.learn.config import FitConfig
from streams.learning import learn
from streams.settings import Settings
from streams.store import AdapterStore

QUICK = functools.partial(FitConfig, members=1, epochs=40)


def wait(hold: Path, where: str) -> None:
    while hold.read_text() == where:
        hold.with_name("held").write_text(where)
        time.sleep(0.05)


def hold_at(hold: Path) -> None:
    """Have jobs wait where ``hold`` says."""
    settle = AdapterStore.settle

    def held_learn(*arguments: Any) -> Any:
        wait(hold, "before the fit")
        return learn(*arguments)

    async def held_settle(*arguments: Any) -> bool:
        done = await settle(*arguments)
        wait(hold, "decided")
        return done

    streams.agents.retraining.learn = held_learn
    AdapterStore.settle = held_settle  # type: ignore[method-assign]


def main() -> None:
    """Run one worker with the settings of the environment."""
    streams.learning.FitConfig = QUICK  # type: ignore[assignment,misc]
    if len(sys.argv) > 1:
        hold_at(Path(sys.argv[1]))
    streams.app.run(Settings.from_env())


if __name__ == "__main__":
    main()
