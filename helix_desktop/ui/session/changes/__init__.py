"""What the user does with changes of files: accept, revert, redo, cover more."""
