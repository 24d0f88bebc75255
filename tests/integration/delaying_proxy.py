"""A TCP proxy on this machine that holds every reply back for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


@asynccontextmanager
async def delayed(url: str, *, seconds: float) -> AsyncIterator[str]:
    """Yield a URL at which the server of ``url`` answers ``seconds`` late."""
    target = urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection(target.hostname, target.port)
        both = [
            asyncio.create_task(_pump(reader, upstream[1], 0.0)),
            asyncio.create_task(_pump(upstream[0], writer, seconds)),
        ]
        tasks.update(both)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        for side in (writer, upstream[1]):
            side.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    while data := await reader.read(65_536):
        await asyncio.sleep(seconds)
        writer.write(data)
        await writer.drain()
