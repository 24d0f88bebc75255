"""Faust with the settings of a seedmem worker, and nothing else. Run as a program.

One agent answers a question with an empty reply, the other counts memories. What a
worker takes longer than this, it takes for itself.
"""

import asyncio
import signal
from typing import Any

import faust
from prometheus_client import Counter

from streams.events import QueryAsked, QueryReply, Status
from streams.faustapp import make_app, raw_topic
from streams.health import HealthServer
from streams.settings import Settings
from streams.topics import Topics
from streams.wire import decode, encode

SEEN = Counter("bare_events", "Memories that were read")


def register(app: faust.App, topics: Topics) -> None:
    """Add both agents."""
    replies = raw_topic(app, topics.query_reply)

    @app.agent(raw_topic(app, topics.query), name="echo", concurrency=1)
    async def echo(stream: Any) -> None:
        async for value in stream:
            asked = decode(value, QueryAsked)
            reply = QueryReply(request_id=asked.request_id, user_id=asked.user_id, status=Status.OK)
            await replies.send(value=encode(reply), partition=asked.reply_partition)

    @app.agent(raw_topic(app, topics.memory_created), name="count", concurrency=1)
    async def count(stream: Any) -> None:
        async for _ in stream:
            SEEN.inc()


async def serve(settings: Settings) -> None:
    """Run until SIGTERM."""
    app, assigned, stopped = make_app(settings), asyncio.Event(), asyncio.Event()
    register(app, Topics(settings.namespace))

    async def on_assigned(*_: Any, **__: Any) -> None:
        assigned.set()

    app.on_partitions_assigned.connect(on_assigned, weak=False)
    health = HealthServer(
        settings.health_host,
        settings.health_port,
        live=lambda: None,
        ready=lambda: None if assigned.is_set() else "no partitions are assigned",
    )
    health.start()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await app.start()
    await stopped.wait()
    await app.stop()
    health.close()


if __name__ == "__main__":
    asyncio.run(serve(Settings.from_env()))
