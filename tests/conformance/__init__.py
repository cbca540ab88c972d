"""CPython's own tests of threading and asyncio, run under control."""
