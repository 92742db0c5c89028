"""The sidebar: workspaces, sessions, picker."""
