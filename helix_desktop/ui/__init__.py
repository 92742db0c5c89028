"""The window: shows sessions, sends intents."""
