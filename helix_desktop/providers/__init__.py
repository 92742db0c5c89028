"""Models over HTTP: requests, streaming, retries, token counts."""
