"""The history of a workspace's files: its database, the tree it watches, and reverts."""
