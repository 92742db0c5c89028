"""Handovers and observations: what is summarized, how it is asked for, and what comes back."""
