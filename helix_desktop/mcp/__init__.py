"""Tools of other programs: clients of the MCP servers that a workspace was given, and their settings."""
