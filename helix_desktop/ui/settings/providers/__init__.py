"""Settings of providers, their models and roles."""
