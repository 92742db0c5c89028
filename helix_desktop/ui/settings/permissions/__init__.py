"""Settings of what the agent may do."""
