"""The guided demo."""
