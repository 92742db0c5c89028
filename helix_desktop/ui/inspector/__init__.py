"""What the next request will contain, on screen."""
