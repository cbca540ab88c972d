"""Record and replay of the order of messages: all tasks run natively, in parallel."""
