"""What the composer completes in the session on screen, and what it says of what is mentioned."""
