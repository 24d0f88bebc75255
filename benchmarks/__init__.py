"""What seedmem costs, side by side with what it could be instead: ``python -m benchmarks``.

Each part takes its own figures and those it is compared with in turns, in the same run, so
that a busy machine slows both. Figures, targets and what they mean: ``docs/benchmarks.md``.
"""
