"""seedmem: find the one memory that a vague question means.

The pure library: records, one user's hot state, retrieval, learning. It knows
no Kafka, Redis, clock or environment; ``streams`` wires it to those.
"""
