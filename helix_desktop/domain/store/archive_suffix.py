"""The ending of the name of an exported workspace; apart from its structs, which a start does not need."""

SUFFIX = ".helix"
TRANSCRIPT_SUFFIX = ".md"
"""The ending of a session's transcript."""
