"""Reverts: the plan, the files staged beside, the swap, and its repair after a kill."""
