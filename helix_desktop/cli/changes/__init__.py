"""The command `changes`: what a session changed of files, as a list or a patch, and taking it back."""
