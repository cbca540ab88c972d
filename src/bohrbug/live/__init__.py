"""Live rounds: a program runs once, and copies of it run short pieces of its possible futures."""
