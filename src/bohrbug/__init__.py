"""Bohrbug: finds the interleavings that break a concurrent program, and replays them."""
