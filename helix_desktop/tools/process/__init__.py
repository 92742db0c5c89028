"""Child processes: environment, output, and ending what they leave."""
