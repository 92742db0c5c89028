"""The rows of a conversation as data, made of events."""
