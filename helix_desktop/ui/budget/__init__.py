"""What a session costs, and its budget."""
