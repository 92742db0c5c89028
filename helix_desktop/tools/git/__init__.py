"""The `git` program: the state of a checkout and its contents, with nothing run that the checkout names."""
