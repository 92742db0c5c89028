"""MCP servers of a workspace: their configuration, consent and state."""
