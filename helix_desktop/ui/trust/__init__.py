"""The question whether a workspace's folder is trusted."""
