"""Version, updates and licenses."""
