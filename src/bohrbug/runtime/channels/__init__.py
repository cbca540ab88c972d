"""Record and replay of the order of messages: everything runs natively, in parallel, at full speed."""
