"""The guide: what is kept, what leaves the context, how to get it back."""
