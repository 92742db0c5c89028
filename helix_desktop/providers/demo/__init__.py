"""The offline demo model: it follows a script with real tools."""
