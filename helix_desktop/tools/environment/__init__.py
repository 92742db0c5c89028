"""What an agent is told of its workspace before it begins: the environment, and files with instructions."""
