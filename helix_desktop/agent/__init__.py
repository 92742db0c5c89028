"""Runs turns: the only place where events come into being."""
