"""The OpenAI Chat Completions dialect, as many servers speak it."""
