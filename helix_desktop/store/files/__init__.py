"""The files around a database: atomic writes, the owner's lock, quarantine."""
