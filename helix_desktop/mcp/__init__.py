"""The Model Context Protocol: the cache as a server, and servers whose tools the agent uses."""
