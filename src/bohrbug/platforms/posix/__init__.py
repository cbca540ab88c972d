"""Native programs."""
