"""Plans, traces and the words they are made of: plain data, no imports from above."""

from bohrbug import own_names

# What runs in executions is made of this and of runtimes.
own_names.take()
