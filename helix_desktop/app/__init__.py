"""Names the concrete parts, starts and stops the process."""
