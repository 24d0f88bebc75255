"""Producing from a worker: an event counts as sent when the broker has it."""

import faust
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from faust.exceptions import ProducerSendError

from streams import tracing
from streams.patience import patiently


class Outbox:
    """Sends through the producer of ``app``, for as long as it takes."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    async def send(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
    ) -> None:
        """Produce one event and return when the broker has acknowledged it.

        Raises:
            MessageSizeTooLargeError: waiting would not help.
        """

        async def produce() -> MessageSizeTooLargeError | None:
            try:
                sent = await self._app.producer.send(topic, key, value, partition, None, headers)
                await sent
            except (KafkaError, ProducerSendError) as error:
                cause = error.__cause__ or error  # Faust wraps what aiokafka raises at once
                if isinstance(cause, MessageSizeTooLargeError):
                    return cause
                raise
            return None

        with tracing.sending(topic, key) as headers:
            if too_large := await patiently(produce, on=(KafkaError, ProducerSendError)):
                raise too_large
