"""Footnotes: a number in brackets where one is named, and the same before its text where it is written."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

NOTE_NUMBER = "note_number"
"""The kind of token that stands where a note is named."""
_REFERENCE = re.compile(r"\[(\^[^\s\[\]]+)\]")
_OPENING = re.compile(r"\[(\^[^\s\[\]]+)\]:[ \t]*")
_CODE_INDENT = 4  # columns
_INSIDE = "inside_note"  # key of what a parser knows of its text: whether a note's own text is being read
_COUNT = "note_count"  # and how many notes it has met


def enable_footnotes(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser take `[^1]` as a number where the text has `[^1]: words` anywhere."""
    parser.block.ruler.before("reference", "footnote", _take_note, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("link", "footnote_number", _take_number)
    return parser


def forget_open_note(env: MutableMapping[str, Any]) -> None:
    """Begin a new text with what a parser knows of another one, whose reading may have failed in a note."""
    env.pop(_INSIDE, None)


def _take_note(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Write a note as an item of a list; what goes on of it is indented, or the same paragraph.

    A note in a note's own text stays words: else each of them could hold another one without an end.
    """
    if state.env.get(_INSIDE):
        return False
    start = state.bMarks[first] + state.tShift[first]
    opening = _OPENING.match(state.src, start, state.eMarks[first])
    if opening is None or state.sCount[first] - state.blkIndent >= _CODE_INDENT:
        return False
    if silent:
        return True
    end = _end_of_note(state, first, last)
    lines = [state.src[opening.end() : state.eMarks[first]]]
    lines += [
        state.getLines(line, line + 1, state.blkIndent + _CODE_INDENT, False)
        for line in range(first + 1, end)
    ]
    _write_item(state, _number(state, opening.group(1)), first, end, "\n".join(lines))
    state.line = end
    return True


def _end_of_note(state: StateBlock, first: int, last: int) -> int:
    """Return the line behind the last one of a note."""
    end, line = first + 1, first + 1
    while line < last:
        if not state.isEmpty(line):
            is_indented = state.sCount[line] - state.blkIndent >= _CODE_INDENT
            if not is_indented and (line > end or _begins_block(state, line, last)):
                break
            end = line + 1
        line += 1
    return end


def _begins_block(state: StateBlock, line: int, last: int) -> bool:
    rules = state.md.block.ruler.getRules("paragraph")
    return any(rule(state, line, last, True) for rule in rules)


def _number(state: StateBlock, label: str) -> str:
    """Return a note's number in brackets, by the order in which they are written."""
    references, key = state.env.setdefault("references", {}), normalizeReference(label)
    if key not in references:
        state.env[_COUNT] = state.env.get(_COUNT, 0) + 1
        references[key] = {"title": f"[{state.env[_COUNT]}]", "href": ""}
    return str(references[key]["title"])


def _write_item(state: StateBlock, number: str, first: int, end: int, text: str) -> None:
    state.push("ordered_list_open", "ol", 1).map = [first, end]
    item = state.push("list_item_open", "li", 1)
    item.map, item.info = [first, end], number
    inside = len(state.tokens)
    state.env[_INSIDE] = True
    state.md.block.parse(text, state.md, state.env, state.tokens)
    state.env[_INSIDE] = False
    for token in state.tokens[inside:]:
        token.level += state.level
        token.map = [first + line for line in token.map] if token.map else None
    state.push("list_item_close", "li", -1)
    state.push("ordered_list_close", "ol", -1)


def _take_number(state: StateInline, silent: bool) -> bool:
    reference = _REFERENCE.match(state.src, state.pos, state.posMax)
    note = state.env.get("references", {}).get(normalizeReference(reference.group(1))) if reference else None
    if reference is None or note is None:
        return False
    if not silent:
        state.push(NOTE_NUMBER, "sup", 0).content = str(note["title"])
    state.pos = reference.end()
    return True
