"""The window's frame: bars, menus, panes, jobs."""
