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

    What could still become a tag is held back until it is known.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._is_begun = self._has_thought = False  # whether the answer's own text has begun

    def add(self, text: str) -> tuple[str, str]:
        """Return the text and the thinking that are certain now."""
        self._held += text
        shown, thought = "", ""
        while self._held and not self._is_begun:
            if self._closing:
                inside, found, behind = self._held.partition(self._closing)
                if not found:
                    keep = _partial_end(self._held, self._closing)
                    thought += self._held[: len(self._held) - keep]
                    self._held = self._held[len(self._held) - keep :]
                    return shown, thought
                thought, self._held, self._closing = thought + inside, behind, ""
                self._has_thought = True
                continue
            start = self._held.lstrip()
            opening = next((tag for tag in _OPENINGS if start.startswith(tag)), "")
            if opening:
                self._held, self._closing = start.removeprefix(opening), _CLOSING_OF[opening]
            elif any(tag.startswith(start) for tag in _OPENINGS):
                return shown, thought
            else:
                self._is_begun = True
                self._held = start if self._has_thought else self._held
        if self._is_begun:
            shown, self._held = shown + self._held, ""
        return shown, thought

    def finish(self) -> tuple[str, str]:
        """Return what was held back, at the end of the answer."""
        held, self._held = self._held, ""
        if self._closing:
            return "", held
        return ("" if self._has_thought and not held.strip() else held), ""


def split_thinking(answer: str) -> tuple[str, str]:
    """Return the text and the thinking of a whole answer.

    Some servers put the opening tag into the request: then only the closing one is there.
    """
    tags = ThinkingTags()
    shown, thought = tags.add(answer)
    shown_rest, thought_rest = tags.finish()
    shown, thought = shown + shown_rest, thought + thought_rest
    if not thought and (closing := _LONE_CLOSING.search(shown)) and _ends_a_thought(shown, closing):
        return shown[closing.end() :].lstrip(), shown[: closing.start()]
    return shown, thought


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
