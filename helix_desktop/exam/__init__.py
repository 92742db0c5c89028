"""Ask a model about recorded sessions, with the window that a policy leaves, and score its answers."""
