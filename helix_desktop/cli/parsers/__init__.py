"""What is typed: the arguments and help of each command."""
