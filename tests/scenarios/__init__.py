"""Scenarios of faults, each a few lines: a seeded story, a plain model of it, and the comparison.

``story`` makes the events, ``plain`` holds what must come of them, ``stage`` plays
them to a running service and compares, ``watch`` asks meanwhile, ``worker`` is a
worker that fails on command.
"""
