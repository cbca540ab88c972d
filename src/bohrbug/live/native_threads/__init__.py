"""A program that keeps its real threads: they are delayed and prioritised, not controlled."""
