"""The message being written in the session on screen: its text, what goes along with it, sending it."""
