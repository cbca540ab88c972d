"""Small programs that use threads: some broken, some correct; the whole tool judges them all."""
