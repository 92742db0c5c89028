"""Parts that all pages are made of, each declared as data: forms."""
