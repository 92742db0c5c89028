"""Which tool calls are allowed: rules, and how a shell command is read."""
