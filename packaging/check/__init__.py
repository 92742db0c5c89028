"""Checks of what packaging makes, in systems that hold nothing else."""
