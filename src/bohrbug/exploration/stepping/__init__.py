"""Stepping through an execution: somebody makes the decisions, one by one."""
