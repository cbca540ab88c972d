"""The variables of the tested program: finding, naming and watching them.

Rewritten bytecode tells a sink (:mod:`~bohrbug.runtime.threads.data.sinks`) of every access to
data. :class:`~bohrbug.runtime.threads.data.variables.Variables` finds the variable that is meant, a
:class:`~bohrbug.runtime.threads.data.shadows.Shadow`, on which a race detector keeps its state.
"""
