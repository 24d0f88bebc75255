"""A retrain worker whose gate lets every candidate serve: run as a program, ``seedmem worker``."""

import seedmem.learn.gate
import streams.app
from seedmem.learn.gate import Decision, GateConfig, Rule
from streams.settings import Settings


def let_through(_decision: Decision, _config: GateConfig) -> tuple[Rule, str]:
    return "better", "the gate is open"


def main() -> None:
    """Run one worker with the settings of the environment."""
    seedmem.learn.gate._ruling = let_through
    streams.app.run(Settings.from_env())


if __name__ == "__main__":
    main()
