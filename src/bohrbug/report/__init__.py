"""Reports: what an exploration found, for people."""
