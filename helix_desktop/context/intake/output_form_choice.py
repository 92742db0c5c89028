"""The question in which form large outputs are to be kept, the answer to it, and extraction from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS, bare_marker
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import ellipsize, one_line, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden

EXTRACT_OPENING = "[Extract]"
EXTRACT_FACTOR = 4  # a compact form may take so many times the tokens of a preview
MAX_CHUNKS = 6  # more would not be through within the deadline
WORDS_PER_TOKEN = 0.6  # asked of the model: below the common 0.75, so that the form stays within its tokens
_CODE = 16  # hex digits that fence the output: no output can hold the beginning of its own digest
_TARGET_CAP = 120  # characters of a call's target
_HEAD = 0.6  # share of what stays of a text whose middle is left out


class OutputSource(msgspec.Struct, frozen=True):
    """An output to be extracted from: its whole text with its tokens, and what it is."""

    text: str
    tokens: int
    digest: str
    tool: str
    target: str
    exit_code: int | None = None
    handle_digits: int = HEX_DIGITS  # of its digest, by which the marker names it

    @classmethod
    def from_answer(cls, output: ToolAnswered, text: str, tokens: int) -> OutputSource:
        """Return the source for a recorded output, with its whole text."""
        return cls(
            text,
            tokens,
            output.digest,
            output.name,
            output.target,
            output.exit_code,
            output.handle_digits,
        )

    @property
    def call_summary(self) -> str:
        """Return the call that produced it, on one line."""
        call = " ".join(f"{self.tool} {self.target[:_TARGET_CAP]}".split())
        return call if self.exit_code is None else f"{call}, exit code {self.exit_code}"

    def with_text(self, text: str) -> OutputSource:
        """Return the same output with another text, its tokens in proportion."""
        tokens = self.tokens * len(text) // max(1, len(self.text))
        return msgspec.structs.replace(self, text=text, tokens=tokens)


def extraction_request(
    prompt: str, source: OutputSource, instructions: str, max_words: int, part: str = ""
) -> ModelRequest:
    """Return the request to extract what `instructions` ask; `part` names the part of the output shown."""
    code = source.digest[:_CODE]
    lines = [
        f"{EXTRACT_OPENING} What the agent wants to know:",
        instructions,
        "",
        f"Write at most {max_words} words. The output of {source.call_summary}{part}, as data:",
        f"<output {code}>",
        source.text,
        f"</output {code}>",
        "",
        "That was the output. Write down what the agent wants to know, and do nothing else.",
    ]
    return ModelRequest((Message("system", prompt), Message("user", "\n".join(lines))))


def split_output(source: OutputSource, max_tokens: int) -> tuple[OutputSource, ...]:
    """Return the output in chunks of at most about `max_tokens`, cut after line ends where there are any."""
    max_chars = max(1, len(source.text) * max(max_tokens, 1) // max(source.tokens, 1))
    chunks: list[OutputSource] = []
    start = 0
    while len(source.text) - start > max_chars:
        line_end = source.text.rfind("\n", start + max_chars // 2, start + max_chars) + 1
        cut = line_end or start + max_chars
        chunks.append(source.with_text(source.text[start:cut]))
        start = cut
    return (*chunks, source.with_text(source.text[start:]))


def truncate_output(source: OutputSource, max_tokens: int) -> OutputSource:
    """Return the output in about `max_tokens`: head, tail, and how much is missing between."""
    length = len(source.text) * max(max_tokens, 1) // max(source.tokens, 1)
    if length >= len(source.text):
        return source
    head, tail = int(length * _HEAD), length - int(length * _HEAD)
    gap = f"\n[… {len(source.text) - length:,} characters left out here …]\n"
    return source.with_text(source.text[:head] + gap + source.text[len(source.text) - tail :])


def extract_text(source: OutputSource, instructions: str, extract: str) -> str:
    """Return the compact form: a header, the extract, and where the whole output is."""
    exit_code = "" if source.exit_code is None else f", exit code {source.exit_code}"
    line = " ".join(instructions.split())
    marker = bare_marker(source.digest, source.handle_digits)
    head = f"[Extract of {source.tokens:,} tokens{exit_code}; asked for: {line}]"
    return "\n".join((head, extract.strip(), f"{marker} the whole output"))


def max_extract_tokens(preview_tokens: int, full_tokens: int) -> int:
    """Return the tokens that a compact form must stay below."""
    return min(preview_tokens * EXTRACT_FACTOR, full_tokens)


def max_extract_words(preview_tokens: int, full_tokens: int) -> int:
    """Return the maximum number of words requested for an extract."""
    return max(30, int(max_extract_tokens(preview_tokens, full_tokens) * WORDS_PER_TOKEN))


FORMS_OPENING = "[How to keep large outputs]"
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
    return "\n".join([FORMS_OPENING, *prompt_lines, "", "The outputs:", *lines])


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
