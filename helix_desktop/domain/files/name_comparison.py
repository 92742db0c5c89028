"""Names of files as the most lenient file systems compare them."""

from __future__ import annotations

import unicodedata


def normalized_name(name: str) -> str:
    """Normalize a name as the most lenient file system does: no case, invisible characters, end dots."""
    visible = "".join(
        sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) != "Cf"
    )
    return visible.split(":", 1)[0].casefold().rstrip(". ")
