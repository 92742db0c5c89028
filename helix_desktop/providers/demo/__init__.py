"""The offline demo model: it works through a script with real tools."""
