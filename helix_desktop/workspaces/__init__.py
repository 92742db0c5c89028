"""Which project folders there are, and their records."""
