"""The question in which form large outputs are to be kept, and the answer to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.unicode_safety import escape_hidden

OPENING = "[How to keep large outputs]"
INSTRUCTIONS_CAP = 1_000  # characters of the instructions for a compact form
_NAME_CAP = 80
_CHOICE = re.compile(
    r"[\W_]*(?:output\s*)?#?(?P<number>\d{1,4})[\W_]{1,6}(?P<form>compact|preview|full)\b"
    r"[*_`\"']*\s*(?P<mark>[:=,;.(–—-]?)[*_`\s]*(?P<rest>.*)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)


class LargeOutput(msgspec.Struct, frozen=True):
    """A large output as the question names it; sizes in tokens. `full` says whether that form is offered."""

    tool: str
    target: str
    digest: str
    tokens: int
    lines: int
    is_full_offered: bool
    exit_code: int | None = None


class FormChoice(msgspec.Struct, frozen=True):
    """The form of one output, the instructions for a compact one, and whether the model chose it."""

    form: Form = "preview"
    instructions: str = ""
    is_chosen_by_model: bool = False


def offer_full_form(extras: Sequence[int], max_tokens: int) -> tuple[bool, ...]:
    """For which outputs the full form is offered.

    `extras` are the tokens that each would take beyond its preview, `room` the tokens left for all of them.
    The smallest are offered first, so that every one that is offered can be chosen together.
    """
    found = [False] * len(extras)
    for place in sorted(range(len(extras)), key=lambda place: (extras[place], place)):
        if extras[place] > max_tokens:
            break
        max_tokens -= extras[place]
        found[place] = True
    return tuple(found)


def form_question(prompt: str, outputs: Sequence[LargeOutput]) -> str:
    """The user message that asks for the forms; what comes from tools stands in it as quoted data."""
    lines = [_output_line(number, one) for number, one in enumerate(outputs, 1)]
    return "\n".join([OPENING, prompt, "", "The outputs:", *lines])


def _output_line(number: int, output: LargeOutput) -> str:
    options = "compact, preview, full" if output.is_full_offered else "compact, preview"
    code = "" if output.exit_code is None else f", exit code {output.exit_code}"
    about = " ".join(part for part in (_quoted(output.tool), _quoted(output.target)) if part)
    size = f"about {output.tokens:,} tokens, {output.lines:,} lines{code}"
    return f"{number}. {about} ({output.digest[:8]}): {size}. Options: {options}"


def _quoted(text: str) -> str:
    """A name on one line, in quotes that it cannot leave."""
    if not text:
        return ""
    words = " ".join(escape_hidden(text).split())
    short = words if len(words) <= _NAME_CAP else words[: _NAME_CAP - 1] + "…"
    return msgspec.json.encode(short.encode("utf-8", "replace").decode()).decode()


def parse_choices(answer: str, full_offered: Sequence[bool]) -> tuple[FormChoice, ...]:
    """One choice for each output, in order; `full` says for which outputs that form was offered.

    What cannot be read, contradicts itself, or was not offered is a preview that nobody chose.
    """
    found: dict[int, list[FormChoice]] = {}
    for number, choice in _parse_lines(_plain_lines(answer)):
        if 1 <= number <= len(full_offered):
            found.setdefault(number, []).append(choice)
    return tuple(
        _agreed_choice(found.get(number, []), allowed) for number, allowed in enumerate(full_offered, 1)
    )


def _agreed_choice(choices: list[FormChoice], is_full_offered: bool) -> FormChoice:
    if not choices or any(one != choices[0] for one in choices):
        return FormChoice()
    return FormChoice() if choices[0].form == "full" and not is_full_offered else choices[0]


def _plain_lines(answer: str) -> str:
    """The answer without thoughts and fences; a JSON answer as lines."""
    text = _FENCE.sub("", _THOUGHT.sub("", answer)).strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return "\n".join(_lines_of(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _lines_of(value: Any) -> Iterator[str]:
    """A JSON answer in lines: an object by number, or a list of objects that name theirs."""
    if isinstance(value, dict):
        numbered = [(key, one) for key, one in value.items() if str(key).isdigit()]
        for key, one in numbered:
            words = one.values() if isinstance(one, dict) else [one]
            yield f"{key}: " + ": ".join(_one_line(word) for word in words if isinstance(word, str))
        if not numbered:
            for one in value.values():
                yield from _lines_of(one)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                numbers = [str(part) for part in one.values() if str(part).isdigit()]
                words = [_one_line(part) for part in one.values() if isinstance(part, str)]
                said = [part for part in words if not part.isdigit()]
                yield f"{''.join(numbers[:1])}: " + ": ".join(said)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parse_lines(text: str) -> Iterator[tuple[int, FormChoice]]:
    """The choices that the lines of an answer name; instructions may go on below, up to an empty line."""
    blocks: list[tuple[re.Match[str], list[str]]] = []
    going_on: list[str] = []
    for line in text.splitlines():
        found = _CHOICE.fullmatch(line)
        if found is not None:
            going_on = [found["rest"]]
            blocks.append((found, going_on))
        elif line.strip():
            going_on.append(line)
        else:
            going_on = []
    for found, lines in blocks:
        choice = _parse_choice(found, lines)
        if choice is not None:
            yield int(found["number"]), choice


def _parse_choice(matched: re.Match[str], lines: list[str]) -> FormChoice | None:
    form, rest = matched["form"].lower(), matched["rest"].strip()
    if form == "compact":
        asked = " ".join(" ".join(lines).split()).strip(" \"'`)")[:INSTRUCTIONS_CAP]
        return FormChoice("compact", asked, True) if any(sign.isalnum() for sign in asked) else None
    if rest and not matched["mark"]:
        return None  # a sentence that happens to begin like a choice
    return FormChoice("full" if form == "full" else "preview", is_chosen_by_model=True)
