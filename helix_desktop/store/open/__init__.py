"""Opening a store: migration, and the steps of a repair."""
