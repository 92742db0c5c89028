"""The client: connects to MCP servers and calls their tools."""
