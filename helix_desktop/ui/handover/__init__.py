"""A handover by hand: range, focus, draft, and the user's own words in it."""
