"""Whether a workspace's folder is trusted: asked once, shown until it is, taken back at any time."""
