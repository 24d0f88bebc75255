"""What a rebalance drops is read again, also from a partition that nothing was committed of."""

import asyncio

from kafka import KafkaProducer

from streams.faustapp import make_app, raw_topic
from streams.topics import Topics


async def test_events_that_were_fetched_and_not_acked_come_again_where_nothing_is_committed(
    settings,
):
    topic, app, seen = Topics(settings.namespace).memory_recalled, make_app(settings), []

    @app.agent(raw_topic(app, topic), name="reader")
    async def reader(stream):
        async for event in stream.noack().events():
            seen.append((event.message.partition, event.message.offset))

    producer = KafkaProducer(bootstrap_servers=settings.kafka, acks="all")
    sent = [producer.send(topic, b"x", key=b"ada") for _ in range(3)]
    places = [(place.partition, place.offset) for place in (one.get(10) for one in sent)]
    producer.close()
    await app.start()
    try:
        await until(lambda: seen == places)

        await app.consumer.perform_seek()  # as after each rebalance

        await until(lambda: seen == 2 * places)
    finally:
        await app.stop()


async def until(claim):
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110 - what changes it has no event
            await asyncio.sleep(0.05)
