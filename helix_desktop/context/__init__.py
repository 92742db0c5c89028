"""The context engine: from the log of a session to the next request. Pure: no Qt, no I/O, no clock."""
