"""``worker``: run one worker process."""

from typing import Annotated

import msgspec
import typer

from streams.cli.options import connected
from streams.cpus import available_cpus
from streams.settings import Role, Settings, tame_native_libraries


@connected
def worker(
    *,
    settings: Settings,
    role: Annotated[
        Role | None,
        typer.Option(
            envvar="SEEDMEM_ROLE",
            help="Which agents it runs: serve stores and answers; extract finds subjects; "
            "retrain learns adapters.",
            show_default="serve",
        ),
    ] = None,
) -> None:
    """Run one worker until it is told to stop. All its settings are SEEDMEM_* variables.

    Example: seedmem worker --role serve --kafka broker:9092 --redis redis://store:6379/0
    """
    threads = min(settings.threads, available_cpus())
    tame_native_libraries(threads)  # before numpy is loaded
    from streams import app

    app.run(msgspec.structs.replace(settings, role=role or settings.role, threads=threads))
