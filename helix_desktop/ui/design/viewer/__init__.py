"""The viewer of long texts: pages, search, highlighting."""
