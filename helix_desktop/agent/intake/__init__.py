"""Intake: receives model answers and tool outputs, and chooses the form in which large ones are shown."""
