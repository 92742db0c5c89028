"""What may be removed and when: cleanup, trash, garbage collection."""
