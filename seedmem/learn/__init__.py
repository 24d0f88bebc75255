"""Learn a user's query adapter: pairs, negatives, loss, fit, gate.

The only room that imports torch, and only in ``loss``, ``model`` and ``fit``;
``seedmem.adapt`` serves what is learned here.
"""
