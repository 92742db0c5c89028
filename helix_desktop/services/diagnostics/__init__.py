"""The diagnostics bundle: what a bug report needs, without what belongs to the user."""
