"""The POSIX runtime: unmodified Linux programs that preload a shim, which executes plans."""
