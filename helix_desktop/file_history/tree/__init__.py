"""The tree of a workspace: what of it is covered, how it is scanned, what a call changed in it."""
