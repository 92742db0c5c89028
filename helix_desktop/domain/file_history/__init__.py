"""What is known of a workspace's files over time: states, changes, coverage, reverts."""
