"""The window: the request that the log gives, its validation, and how full it is."""
