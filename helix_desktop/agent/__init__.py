"""Runs sessions: turns, budgets and messages. Events come into being only here."""
