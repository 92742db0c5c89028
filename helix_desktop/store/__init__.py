"""One LevelDB per workspace: content, events, handovers, references."""
