"""What runs before Bohrbug: it must work on any Python, to say whether Bohrbug does.

The modules of ``bohrbug`` may use all that the oldest supported Python knows.  So nothing here
imports them before :mod:`bohrbug_entry.pythons` has been asked, and what runs before that is
written for Python 3.7 and newer, of any implementation.
"""
