"""Apache Kafka and Redis, embedded: both from Python packages, on 127.0.0.1, in a data directory.

For the demo, for ``seedmem up`` and for the tests. A deployment uses servers of its own.
"""

from streams.local.kafka import LocalKafka
from streams.local.redis import LocalRedis

__all__ = ["LocalKafka", "LocalRedis"]
