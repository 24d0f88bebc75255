"""The durable store, and the only room that knows Redis."""

from streams.store.adapters import AdapterStore, Settlement, Standing, Supervision
from streams.store.faults import is_transient
from streams.store.graphs import Graph
from streams.store.store import Page, RecordStore, connect
from streams.store.values import (
    ERASED,
    EXTRACTED,
    FULL,
    MEMORY,
    NAME,
    PAIR,
    SEQUENCE,
    SUBJECT,
    TOMBSTONE,
    Placed,
    Stored,
    Write,
    field,
    id_of,
    parse,
)

__all__ = [
    "ERASED",
    "EXTRACTED",
    "FULL",
    "MEMORY",
    "NAME",
    "PAIR",
    "SEQUENCE",
    "SUBJECT",
    "TOMBSTONE",
    "AdapterStore",
    "Graph",
    "Page",
    "Placed",
    "RecordStore",
    "Settlement",
    "Standing",
    "Stored",
    "Supervision",
    "Write",
    "connect",
    "field",
    "id_of",
    "is_transient",
    "parse",
]
