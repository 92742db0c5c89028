"""The checks of the self-check: files, this machine, a painted window, child processes."""
