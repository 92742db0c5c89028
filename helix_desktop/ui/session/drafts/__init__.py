"""What is written in sessions and not sent yet: shared by all windows, which a session may change."""
