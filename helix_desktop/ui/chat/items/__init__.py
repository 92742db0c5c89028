"""What is painted for a row: messages, tool cards, dividers."""
