"""Settings: which models, policy and tools each session works with."""
