"""``python -m streams.cli`` is ``seedmem``."""

from streams.cli import main

main()
