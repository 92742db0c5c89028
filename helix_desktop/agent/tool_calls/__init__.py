"""Tool calls: who approves them, and how they run."""
