"""What the agent can do inside a workspace."""
