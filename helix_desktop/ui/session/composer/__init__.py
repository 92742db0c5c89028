"""The message being written in the session on screen: whether it fits, and sending it."""
