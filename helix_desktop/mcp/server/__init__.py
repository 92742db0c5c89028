"""The server: offers a workspace's cache to other programs."""
