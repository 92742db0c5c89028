"""The git checkouts of workspaces: their state, kept fresh, and what differs from the last commit."""
