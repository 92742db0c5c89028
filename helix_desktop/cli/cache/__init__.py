"""The commands on a workspace's cache."""
