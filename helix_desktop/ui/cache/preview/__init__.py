"""The preview of one entry: its facts, its views."""
