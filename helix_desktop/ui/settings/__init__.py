"""Settings: providers, appearance, the workspace's context policy and permissions, about."""
