"""What is removed from a store, and the forms in which it may stand there."""
