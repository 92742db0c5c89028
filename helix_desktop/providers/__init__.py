"""Models: over HTTP, and the offline demo model."""
