"""A handover by hand: how far, with which focus, what it would say, and the person's own words in it."""
