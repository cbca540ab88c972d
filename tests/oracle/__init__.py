"""An oracle of outcomes: random programs, run by real threads that are held up at any bytecode.

Nothing here shares code with what is tested, nor imports it.
"""
