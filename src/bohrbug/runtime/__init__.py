"""Runtimes: execute a plan on a platform and return a trace."""
