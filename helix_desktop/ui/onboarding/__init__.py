"""Pages for when there is nothing to show yet."""
