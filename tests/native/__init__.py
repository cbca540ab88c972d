"""Native programs under control."""
