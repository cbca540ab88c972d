"""Debuggers in a replay: they stop at the preemptions that matter, and at the failure."""
