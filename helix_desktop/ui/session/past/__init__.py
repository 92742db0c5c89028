"""Looking at an earlier step of the session on screen."""
