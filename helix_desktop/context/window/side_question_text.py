"""The messages that begin requests beside the turns: the user's side question, and the one for a title."""

from __future__ import annotations

TITLE_OPENING = "Name this conversation."
SIDE_QUESTION_OPENING = "The user asks you something beside your work."
_QUESTION = "\n\nThe user's question:\n"


def side_question_text(prompt: str, question: str) -> str:
    return f"{SIDE_QUESTION_OPENING} {prompt.strip()}{_QUESTION}{question}"


def question_in(text: str) -> str:
    """Return the question of such a text, its last line or lines."""
    return text.partition(_QUESTION)[2].strip()
