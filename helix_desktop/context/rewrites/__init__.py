"""Which rewrites are due, and what each would change: sweeps, folds, truncation."""
