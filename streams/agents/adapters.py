"""adapter-promoted → hot users: another version serves, between two queries."""

from collections.abc import Sequence

import faust

from streams.delivery import Delivery, Stream
from streams.events import AdapterPromoted
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.settings import Settings
from streams.topics import Topics
from streams.users import HotUsers


def register(
    app: faust.App, topics: Topics, settings: Settings, delivery: Delivery, *, users: HotUsers
) -> None:
    """Add the agent to ``app``."""

    async def swap(promotions: Sequence[Received[AdapterPromoted]]) -> None:
        for user_id in dict.fromkeys(promotion.event.user_id for promotion in promotions):
            await users.swap_adapter(user_id)

    @app.agent(raw_topic(app, topics.adapter_promoted), name="swap_adapters", concurrency=1)
    async def swap_adapters(stream: Stream) -> None:
        """Have the stored version serve each user that is hot, then ack."""
        await delivery.in_batches(
            stream,
            lambda received: received,
            swap,
            kind=AdapterPromoted,
            size=settings.batch_size,
            within=settings.batch_wait,
        )
