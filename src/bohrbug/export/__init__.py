"""Failures as plain tests that fail with ordinary threads, without Bohrbug."""
