"""What every page is made with, and what knows no page."""
