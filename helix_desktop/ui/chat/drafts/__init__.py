"""What is written in sessions and not sent yet: text, what goes along, and messages on their way."""
