"""Names that show that a file or folder is built or fetched again."""

from __future__ import annotations

BUILT_FOLDERS = frozenset(
    (
        "node_modules", "bower_components", "__pycache__", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".next", ".nuxt", ".svelte-kit",
        ".parcel-cache", ".turbo", ".dart_tool", ".terraform", ".hg", ".svn", ".jj",
    )
)  # fmt: skip
"""Folders of this name hold what a tool makes or fetches again, or another program's own data."""

BUILT_MARKERS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""A new folder that holds one of these is a cache (https://bford.info/cachedir) or a virtual environment."""
