"""The facts of a session's log: what was said, what was rewritten, what was summarized."""
