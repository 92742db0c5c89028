"""One process owns a store; others of the same user reach it through a local socket."""
