"""Sessions of other agents: where they are, and readers that make messages and calls of their records."""
