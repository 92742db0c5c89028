"""What a session spends: the line at the bottom, and its budget."""
