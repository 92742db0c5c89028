"""The question in which form large outputs are to be kept, and the answer to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.text_format import ellipsize, one_line, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden

OPENING = "[How to keep large outputs]"
INSTRUCTIONS_CAP = 1_000  # characters of the instructions for a compact form
_NAME_CAP = 80  # characters of a name that is quoted
_OPTION_LINE = re.compile(r"(?:- |<number>: )(compact|preview|full)\b")
_CHOICE = re.compile(
    r"[\W_]*(?:output\s*)?#?(?P<number>\d{1,4})[\W_]{1,6}(?P<form>compact|preview|full)\b"
    r"[*_`\"']*\s*(?P<mark>[:=,;.(–—-]?)[*_`\s]*(?P<rest>.*)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)


class LargeOutput(msgspec.Struct, frozen=True):
    """A large output as the question names it; sizes in tokens."""

    tool: str
    target: str
    digest: str
    tokens: int
    lines: int
    is_full_offered: bool
    exit_code: int | None = None

    @property
    def options(self) -> tuple[Form, ...]:
        """The forms that are offered for it."""
        return ("compact", "preview", "full") if self.is_full_offered else ("compact", "preview")


class FormChoice(msgspec.Struct, frozen=True):
    """The form of one output, the instructions for a compact one, and whether the model chose it."""

    form: Form = "preview"
    instructions: str = ""
    is_chosen_by_model: bool = False


def offer_full_form(extras: Sequence[int], max_tokens: int) -> tuple[bool, ...]:
    """Return for each output whether the full form is offered.

    `extras` are the tokens each would take beyond its preview, `max_tokens` the tokens left for all of them.
    The smallest come first, so that all offered ones can be chosen together.
    """
    offered = [False] * len(extras)
    for index in sorted(range(len(extras)), key=lambda index: (extras[index], index)):
        if extras[index] > max_tokens:
            break
        max_tokens -= extras[index]
        offered[index] = True
    return tuple(offered)


def form_question(prompt: str, outputs: Sequence[LargeOutput]) -> str:
    """Return the user message that asks for the forms; text from tools is quoted as data.

    Lines of `prompt` about a form that no output may have are left out.
    """
    offered = {form for output in outputs for form in output.options}
    prompt_lines = [
        line
        for line in prompt.split("\n")
        if (option := _OPTION_LINE.match(line)) is None or option[1] in offered
    ]
    lines = [_output_line(number, output) for number, output in enumerate(outputs, 1)]
    return "\n".join([OPENING, *prompt_lines, "", "The outputs:", *lines])


def _output_line(number: int, output: LargeOutput) -> str:
    code = "" if output.exit_code is None else f", exit code {output.exit_code}"
    about = " ".join(part for part in (_quoted(output.tool), _quoted(output.target)) if part)
    size = f"about {output.tokens:,} tokens, {pluralize(output.lines, 'line')}{code}"
    return f"{number}. {about} ({output.digest[:8]}): {size}. Options: {', '.join(output.options)}"


def _quoted(text: str) -> str:
    """Return a name on one line, in quotes that it cannot break out of."""
    if not text:
        return ""
    short = ellipsize(" ".join(escape_hidden(text).split()), _NAME_CAP)
    return msgspec.json.encode(short.encode("utf-8", "replace").decode()).decode()


def parse_choices(answer: str, full_offered: Sequence[bool]) -> tuple[FormChoice, ...]:
    """Return one choice for each output, in order; `full_offered` says which outputs may be full.

    Anything unreadable, contradictory or not offered becomes a preview that nobody chose.
    """
    choices: dict[int, list[FormChoice]] = {}
    for number, choice in _parse_lines(_plain_lines(answer)):
        if 1 <= number <= len(full_offered):
            choices.setdefault(number, []).append(choice)
    return tuple(
        _agreed_choice(choices.get(number, []), allowed) for number, allowed in enumerate(full_offered, 1)
    )


def _agreed_choice(choices: list[FormChoice], is_full_offered: bool) -> FormChoice:
    if not choices or any(choice != choices[0] for choice in choices):
        return FormChoice()
    return FormChoice() if choices[0].form == "full" and not is_full_offered else choices[0]


def _plain_lines(answer: str) -> str:
    """Return the answer without thoughts and fences; a JSON answer as lines."""
    text = _FENCE.sub("", _THOUGHT.sub("", answer)).strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return "\n".join(_lines_of(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _lines_of(value: Any) -> Iterator[str]:
    """Yield a JSON answer as lines: an object keyed by number, or a list of objects with a number each."""
    if isinstance(value, dict):
        numbered = [(key, item) for key, item in value.items() if str(key).isdigit()]
        for key, item in numbered:
            parts = item.values() if isinstance(item, dict) else [item]
            yield f"{key}: " + ": ".join(one_line(word) for word in parts if isinstance(word, str))
        if not numbered:
            for item in value.values():
                yield from _lines_of(item)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                numbers = [str(part) for part in item.values() if str(part).isdigit()]
                parts = [one_line(part) for part in item.values() if isinstance(part, str)]
                texts = [part for part in parts if not part.isdigit()]
                yield f"{''.join(numbers[:1])}: " + ": ".join(texts)


def _parse_lines(text: str) -> Iterator[tuple[int, FormChoice]]:
    """Yield the choices in an answer's lines; instructions may continue below, up to an empty line."""
    blocks: list[tuple[re.Match[str], list[str]]] = []
    rest_lines: list[str] = []
    for line in text.splitlines():
        match = _CHOICE.fullmatch(line)
        if match is not None:
            rest_lines = [match["rest"]]
            blocks.append((match, rest_lines))
        elif line.strip():
            rest_lines.append(line)
        else:
            rest_lines = []
    for match, lines in blocks:
        choice = _parse_choice(match, lines)
        if choice is not None:
            yield int(match["number"]), choice


def _parse_choice(matched: re.Match[str], lines: list[str]) -> FormChoice | None:
    form, rest = matched["form"].lower(), matched["rest"].strip()
    if form == "compact":
        instructions = " ".join(" ".join(lines).split()).strip(" \"'`)")[:INSTRUCTIONS_CAP]
        return (
            FormChoice("compact", instructions, True)
            if any(char.isalnum() for char in instructions)
            else None
        )
    if rest and not matched["mark"]:
        return None  # a sentence that happens to begin like a choice
    return FormChoice("full" if form == "full" else "preview", is_chosen_by_model=True)
