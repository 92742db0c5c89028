"""Model roles of a session, and helpers that call a model."""
