"""Checks of packaging's products, in systems with nothing else."""
