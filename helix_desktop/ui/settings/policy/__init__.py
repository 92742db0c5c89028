"""Settings of a workspace's context policy."""
