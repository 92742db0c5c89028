"""Theme, style sheet, fonts and icons."""
