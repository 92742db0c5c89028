"""Application services without Qt: what window and command line have in common."""
