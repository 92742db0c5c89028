"""One LevelDB per workspace: contents, events, handovers, references."""
