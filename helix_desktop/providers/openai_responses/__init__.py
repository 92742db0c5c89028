"""The OpenAI Responses dialect."""
