"""Files as tool calls name, read and change them."""
