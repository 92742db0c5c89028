"""The page of the settings for keyboard shortcuts."""
