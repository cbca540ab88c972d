"""Runtimes: execute a plan on a platform and return a trace."""

from bohrbug import own_names

own_names.take()
