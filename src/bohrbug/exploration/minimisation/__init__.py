"""From a failing execution to what makes it fail, in three steps.

1. :mod:`preemptions`: the fewest preemptions.
2. :mod:`normal_form`: independent neighbours commuted, so that each task runs
   in the longest stretches.
3. :mod:`causes`: the orderings that make the test fail, whatever the rest of the
   schedule is.
"""
