"""The whole request in a window: by message, as JSON, and as curl."""
