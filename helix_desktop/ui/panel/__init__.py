"""What the next request contains."""
