"""Looking at an earlier step of the session on screen, and comparing now with one."""
