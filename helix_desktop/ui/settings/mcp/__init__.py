"""Settings of MCP servers, and of sharing the cache."""
