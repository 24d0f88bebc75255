"""Query → Answer over one user's state. Pure: no state, clock, files or service in here."""

from seedmem.retrieve.query import Answer, Hit, Mode, Query
from seedmem.retrieve.search import retrieve
from seedmem.retrieve.weights import Weights, shipped

__all__ = ["Answer", "Hit", "Mode", "Query", "Weights", "retrieve", "shipped"]
