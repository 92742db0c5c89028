"""Pages for when there is nothing to show yet: first run, empty workspace, missing folder."""
