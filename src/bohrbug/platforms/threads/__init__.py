"""Python tests with threads."""
