"""One process owns a store; others of the same person use it through a local socket."""
