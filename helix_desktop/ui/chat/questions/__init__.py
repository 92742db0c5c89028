"""What the agent asks the user: the cards that wait, and the answered question."""
