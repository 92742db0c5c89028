"""The shell tool and its sandbox."""
