"""Window management by policy: applies rewrites, writes handovers and observations."""
