"""Runs of native programs with their real threads: delays, traps, and what comes of them."""
