"""Monitors: watch an execution and may end it with an outcome."""
