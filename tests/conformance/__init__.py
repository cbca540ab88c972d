"""CPython's own tests of its threading primitives, run under control."""
