"""The registered project folders and their records."""
