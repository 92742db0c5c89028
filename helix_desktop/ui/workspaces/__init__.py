"""Controllers of workspaces: opening, importing, cleaning up, deleting."""
