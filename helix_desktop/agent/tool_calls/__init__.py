"""Tool calls: their approval and their execution."""
