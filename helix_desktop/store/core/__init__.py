"""What all of the store builds on: keys, row encoding, write batches, commits."""
