"""The window's frame: bars, menus, panes, banners, jobs."""
