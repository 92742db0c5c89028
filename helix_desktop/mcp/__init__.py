"""The Model Context Protocol: the cache as a server for other programs, and servers whose tools the agent uses."""
