"""Thinking that a server left in the text of an answer, between tags: `<think>…</think>`."""

from __future__ import annotations

import re

_NAMES = ("think", "thinking", "thought", "reasoning", "reason", "seed:think")
_OPENINGS = (*(f"<{name}>" for name in _NAMES), "[THINK]", "◁think▷")
_CLOSING_OF = {
    **{f"<{name}>": f"</{name}>" for name in _NAMES},
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
}
_LONE_CLOSING = re.compile(r"</(?:think|thinking)>|\[/THINK\]|◁/think▷")


class ThinkingTags:
    """Separates text and thinking of one answer while it streams; tags count only where an answer begins.

    What could still become a tag waits until it is known.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._closing = ""
        self._is_begun = self._has_thought = False  # whether the answer's own text has begun

    def add(self, text: str) -> tuple[str, str]:
        """Return the text and the thinking that are certain now."""
        self._pending += text
        text_part, thinking = "", ""
        while self._pending and not self._is_begun:
            if self._closing:
                inside, found, behind = self._pending.partition(self._closing)
                if not found:
                    keep = _partial_end(self._pending, self._closing)
                    thinking += self._pending[: len(self._pending) - keep]
                    self._pending = self._pending[len(self._pending) - keep :]
                    return text_part, thinking
                thinking, self._pending, self._closing = thinking + inside, behind, ""
                self._has_thought = True
                continue
            start = self._pending.lstrip()
            opening = next((tag for tag in _OPENINGS if start.startswith(tag)), "")
            if opening:
                self._pending, self._closing = start.removeprefix(opening), _CLOSING_OF[opening]
            elif any(tag.startswith(start) for tag in _OPENINGS):
                return text_part, thinking
            else:
                self._is_begun = True
                self._pending = start if self._has_thought else self._pending
        if self._is_begun:
            text_part, self._pending = text_part + self._pending, ""
        return text_part, thinking

    def finish(self) -> tuple[str, str]:
        """Return what was still waiting, at the end of the answer."""
        pending, self._pending = self._pending, ""
        if self._closing:
            return "", pending
        return ("" if self._has_thought and not pending.strip() else pending), ""


def split_thinking(answer: str) -> tuple[str, str]:
    """Return the text and the thinking of a whole answer.

    Some servers put the opening tag into the request: then only the closing one is there.
    """
    tags = ThinkingTags()
    text_part, thinking = tags.add(answer)
    text_rest, thinking_rest = tags.finish()
    text_part, thinking = text_part + text_rest, thinking + thinking_rest
    if not thinking and (closing := _LONE_CLOSING.search(text_part)) and _ends_a_thought(text_part, closing):
        return text_part[closing.end() :].lstrip(), text_part[: closing.start()]
    return text_part, thinking


def _ends_a_thought(text: str, closing: re.Match[str]) -> bool:
    """Return True if a closing tag stands alone in a text, not where the text speaks of such tags."""
    opening = closing[0].replace("/", "")
    before = text[: closing.start()]
    return opening not in text and before.count("`") % 2 == 0 and len(_LONE_CLOSING.findall(text)) == 1


def _partial_end(text: str, tag: str) -> int:
    """Return how many characters at the end of a text may begin a tag."""
    return next(
        (size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0
    )
