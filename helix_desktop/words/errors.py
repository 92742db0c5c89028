"""An error as the user reads it: what happened, why, and what to do."""

from __future__ import annotations

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.words.translation import translate


def error_text(error: HelixError) -> str:
    return translate(join_sentences(error.what, error.why, error.fix))
