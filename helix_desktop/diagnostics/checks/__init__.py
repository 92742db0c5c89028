"""What the self-check tries: files, this machine, a painted window, child processes."""
