"""The sidebar: workspaces, sessions, switcher."""
