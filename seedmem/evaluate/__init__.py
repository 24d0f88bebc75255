"""Evaluation: data sets, methods, metrics, intervals, report. Nothing here is served."""
