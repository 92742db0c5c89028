"""Ports: the interfaces through which the agent uses models, stores, tools and the user."""
