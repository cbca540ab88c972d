"""Plans, traces and the words they are made of: plain data, no imports from above."""
