"""Layouts and containers that several views use."""
