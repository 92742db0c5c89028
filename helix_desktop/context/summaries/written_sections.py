"""The sections of a handover in what a model wrote: below headings of any form, or in fields of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.context.summaries.handover import parse_bullet, parse_bullets
from helix_desktop.context.summaries.sections import TITLES, title_named
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.summary import Section
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_FENCED = re.compile(r"^\s*```[\w-]*[ \t]*\n(.*?)\n\s*```[ \t]*$", re.DOTALL | re.MULTILINE)
_HASH = re.compile(r"^\s*(#{1,6})\s*(\S.*)$")
_HTML = re.compile(r"^\s*<h([1-6])\b[^>]*>(.+?)</h\1>\s*$", re.IGNORECASE)
_TAG = re.compile(r"^\s*<(/?)([A-Za-z][\w -]{2,40})>\s*$")
_UNDERLINE = re.compile(r"^\s*(={3,}|-{3,})\s*$")
_BOLD = re.compile(
    r"^\s*(?:[-*•]\s+)?(?:\d{1,2}[.)]\s*)?(\*\*|__)(?!\s)(.+?)\1\s*[:\uff1a]?\s*$"  # also a wide colon
)
_NUMBERED = re.compile(r"^(?:\d{1,2}|[A-Z]|[IVX]{1,4})[.)]\s+(\S.{0,58}?)\s*[:\uff1a]?\s*$")
_COLON = re.compile(r"^([^\W\d_][^:\uff1a|*\[\]]{1,58})[:\uff1a]\s*$")
_INLINE = re.compile(
    r"^\s*(?:[-*•]\s+|\|\s*|#{1,6}\s+)?(?:\d{1,2}[.)]\s*)?(?:\*\*|__)?([^:\uff1a|*_{}\"]{3,40}?)(?:\*\*|__)?"
    r"\s*(?:[:\uff1a|–—]|\s-\s)\s*(?:\*\*|__)?\s*(\S.*?)\s*\|?\s*$"
)
_PARENTHESIS = re.compile(r"\s*[(\uff08].*$")
_RULER = re.compile(r"^[\s|:*_=~-]*$")
_CITED = re.compile(r"\[e\d{1,12}(?:\s*[,;]\s*e\d{1,12})*\]\s*[.;]?")
_ENDS_CITED = re.compile(_CITED.pattern + r"\s*$")
_ENTRY = re.compile(r"^e?\d{1,12}$")
_BOLD_LEVEL = 7  # of headings: below those with hash signs, in this order
_NUMBERED_LEVEL = 8
_LINE_LEVEL = 9
_ENOUGH = 3  # headings on lines of their own: with fewer, titles before a text on their line count, too
_MAX_DEPTH = 6  # of fields of JSON in each other; the sections lie in one of the first


def parse_handover(text: str, valid_seqs: frozenset[int]) -> tuple[Section, ...]:
    """Parse a model's handover: its sections in order. One that is missing is empty.

    A source that is not in `valid_seqs` is dropped, so that a bullet can end up unsupported.
    Raise CompactionRefused if there is no section, or if all are empty.
    """
    texts = section_texts(text)
    if not texts:
        raise CompactionRefused(
            _text("The model's text wasn't used."),
            _text("Sections are missing: {headings}.", headings=", ".join(TITLES)),
            _text("Nothing was changed."),
        )
    sections = tuple(Section(title, parse_bullets(texts.get(title, ()), valid_seqs)) for title in TITLES)
    if not any(section.bullets for section in sections):
        raise CompactionRefused(
            _text("The model's text wasn't used."), _text("It is empty."), _text("Nothing was changed.")
        )
    return sections


def section_texts(text: str) -> dict[str, list[str]]:
    """Return the sentences of each section that a model's text has, by title."""
    return _fields_in_text(text) or _sections_in_lines(text.splitlines())


class _Heading(msgspec.Struct, frozen=True):
    """A heading in the line `number`: the `title` that it names (empty: another), and what stands behind it.

    Headings of one form have the same `style`, the highest of a text the lowest `level`. Its section's text
    begins in the line `below`.
    """

    number: int
    title: str
    style: str
    level: int
    below: int
    rest: str = ""

    @property
    def closes_others(self) -> bool:
        """True if it ends a section also where it names none: it can't be a sentence."""
        return self.level < _BOLD_LEVEL and self.style != "underline"


def _sections_in_lines(lines: Sequence[str]) -> dict[str, list[str]]:
    headings = _headings(lines)
    named = {heading.title for heading in headings if heading.title}
    if len(named) < len(TITLES):
        headings = _titled_by_order(headings, lines) or headings
        named = {heading.title for heading in headings if heading.title}
    if len(named) < _ENOUGH:
        inline = list(_inline_headings(lines))
        if len({heading.title for heading in inline}) > len(named):
            headings = inline
    texts: dict[str, list[str]] = {}
    for heading, end in _stretches(headings, len(lines)):
        below = [heading.rest, *lines[heading.below : end]]
        texts.setdefault(heading.title, []).extend(_sentences(below))
    return texts


def _stretches(headings: Sequence[_Heading], line_count: int) -> Iterator[tuple[_Heading, int]]:
    """Yield each heading that names a section, and the line at which that ends."""
    for place, heading in enumerate(headings):
        if not heading.title:
            continue
        later = headings[place + 1 :]
        ends = (
            other.number
            for other in later
            if other.title or (other.closes_others and other.level <= heading.level)
        )
        yield heading, next(ends, line_count)


def _headings(lines: Sequence[str]) -> list[_Heading]:
    """Return the headings of a text; in a block of code only those that name a section."""
    found: list[_Heading] = []
    is_in_code = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            is_in_code = not is_in_code
            continue
        heading = _heading(lines, number)
        if heading is not None and (heading.title or not is_in_code):
            found.append(heading)
    return found


def _heading(lines: Sequence[str], number: int) -> _Heading | None:
    """Return the heading that stands in a line, if one does."""
    line = lines[number]
    if not line.strip():
        return None
    if match := _HASH.match(line):
        level = len(match[1])
        return _Heading(number, _title_of(match[2]), f"#{level}", level, number + 1)
    if match := _HTML.match(line):
        return _Heading(number, _title_of(match[2]), f"<h{match[1]}>", int(match[1]), number + 1)
    if (match := _TAG.match(line)) and (title := _title_of(match[2])):
        return _Heading(number, "" if match[1] else title, "<>", 1, number + 1)
    if match := _BOLD.match(line):
        return _Heading(number, _title_of(match[2]), "bold", _BOLD_LEVEL, number + 1)
    if parse_bullet(line) and not line[:1].isalnum():
        return None
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if _UNDERLINE.match(following) and not _RULER.match(line):
        return _Heading(number, _title_of(line), "underline", 1, number + 2)
    if match := _NUMBERED.match(line):
        return _Heading(number, _title_of(match[1]), "numbered", _NUMBERED_LEVEL, number + 1)
    title = _title_of(line)
    if match := _COLON.match(line):
        return _Heading(number, title, "line", _LINE_LEVEL, number + 1)
    if title and title == _exact_title(line):
        return _Heading(number, title, "line", _LINE_LEVEL, number + 1)
    return None


def _title_of(words: str) -> str:
    return title_named(_PARENTHESIS.sub("", words))


def _exact_title(line: str) -> str:
    """Return the title that a whole line spells, not another name of it: `Done.` may be a sentence."""
    plain = "".join(filter(str.isalpha, line.lower()))
    return next((title for title in TITLES if plain == title.lower().replace(" ", "")), "")


def _titled_by_order(headings: Sequence[_Heading], lines: Sequence[str]) -> list[_Heading]:
    """Return the headings of six parts of one form, each with the title at its place; else nothing.

    Those that name a section have to stand at its place, and none of another form names one. Of more
    headings, such as one above all, those without a text below count as none.
    """
    for style in dict.fromkeys(heading.style for heading in headings):
        if any(heading.title for heading in headings if heading.style != style):
            continue
        parts = [heading for heading in headings if heading.style == style]
        if len(parts) > len(TITLES):
            ends = [*(part.number for part in parts[1:]), len(lines)]
            pairs = zip(parts, ends, strict=True)
            parts = [part for part, end in pairs if any(map(str.strip, lines[part.below : end]))]
        if len(parts) != len(TITLES):
            continue
        if all(part.title in ("", title) for part, title in zip(parts, TITLES, strict=True)):
            titled = zip(parts, TITLES, strict=True)
            return [msgspec.structs.replace(part, title=title) for part, title in titled]
    return []


def _inline_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield the titles of sections that have a text on their own line, as in a list or a table."""
    for number, line in enumerate(lines):
        match = _INLINE.match(line)
        if match is None:
            continue
        title = _title_of(match[1])
        if title:
            rest = match[2].replace("<br>", "\n").replace("<br/>", "\n")
            yield _Heading(number, title, "inline", _LINE_LEVEL, number + 1, rest)


def _sentences(lines: Sequence[str]) -> list[str]:
    """Return the bullets of a section; of its paragraphs those with sources, or all if it has no bullets."""
    bullets: list[str] = []
    paragraphs: list[str] = []
    current: list[str] | None = None  # the list whose last text an indented or adjoining line continues
    for line in "\n".join(lines).split("\n"):
        if _RULER.match(line) or _FENCE.match(line):
            current = None if not line.strip() else current
            continue
        bullet = parse_bullet(line)
        if bullet:
            bullets.append(bullet)
            current = bullets
            continue
        is_adjoining = current is not None and not _ENDS_CITED.search(current[-1])
        last = current or (bullets if line[:1].isspace() else None)
        if last and (line[:1].isspace() or is_adjoining):
            last[-1] += f" {line.strip()}"
            continue
        if not _is_subheading(line):
            paragraphs.append(_plain_row(line))
            current = paragraphs
    split = [sentence for paragraph in paragraphs for sentence in _split_at_sources(paragraph)]
    if bullets:
        split = [sentence for sentence in split if _CITED.search(sentence)]
    return [*bullets, *split]


def _is_subheading(line: str) -> bool:
    return bool(_BOLD.match(line) or _HASH.match(line) or _TAG.match(line) or line.rstrip().endswith(":"))


def _plain_row(line: str) -> str:
    """Return a row of a table as a sentence, the entries in its last cell as sources; others as they are."""
    if not line.lstrip().startswith("|"):
        return line.strip()
    cells = [cell.strip() for cell in line.strip().strip("|").split("|") if cell.strip()]
    entries = re.findall(r"e\d{1,12}", cells[-1]) if cells else []
    if len(cells) > 1 and entries and not re.sub(r"[e\d\s,;\[\]]", "", cells[-1]):
        return f"{' '.join(cells[:-1])} [{', '.join(entries)}]"
    return " ".join(cells)


def _split_at_sources(paragraph: str) -> Iterator[str]:
    """Yield the statements of a paragraph: each ends with its sources."""
    start = 0
    for cited in _CITED.finditer(paragraph):
        yield paragraph[start : cited.end()].strip()
        start = cited.end()
    if rest := paragraph[start:].strip():
        yield rest


def _fields_in_text(text: str) -> dict[str, list[str]]:
    """Return the sections in the JSON that a text is or holds; empty if there is none."""
    if "{" not in text and "[" not in text:
        return {}
    candidates = [text.strip(), *_FENCED.findall(text)]
    if "{" in text:
        candidates.append(text[text.find("{") : text.rfind("}") + 1])
    for candidate in candidates:
        if not candidate.lstrip().startswith(("{", "[")):
            continue
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        found = _sections_in_value(value, 0)
        if found:
            return found
    return {}


def _sections_in_value(value: Any, depth: int) -> dict[str, list[str]]:
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(value, str):
        return _sections_in_lines(value.splitlines())
    if isinstance(value, list):
        return _sections_in_list(value)
    if not isinstance(value, dict):
        return {}
    titles = {name: title for name in value if (title := title_named(name))}
    if len(titles) < _ENOUGH:
        inner = [_sections_in_value(item, depth + 1) for item in value.values()]
        best = max(inner, key=len, default={})
        if len(best) > len(titles):
            return best
    if len(value) == len(TITLES) and all(isinstance(item, list | str) for item in value.values()):
        by_order = dict(zip(value, TITLES, strict=True))
        if all(by_order[name] == title for name, title in titles.items()):
            titles = by_order
    return {title: list(_statements(value[name])) for name, title in titles.items()}


def _sections_in_list(values: Sequence[Any]) -> dict[str, list[str]]:
    """Return the sections in a list of objects with a title and a text each; six others count by order."""
    parts = [value for value in values if isinstance(value, dict)]
    texts: dict[str, list[str]] = {}
    for place, part in enumerate(parts):
        names = [key for key, item in part.items() if isinstance(item, str) and title_named(item)]
        if names:
            title = title_named(part[names[0]])
        elif len(parts) == len(TITLES) and len(part) > 1:
            title = TITLES[place]
            names = [next(iter(part))]
        else:
            continue
        others = [item for key, item in part.items() if key != names[0]]
        texts.setdefault(title, []).extend(sentence for item in others for sentence in _statements(item))
    return texts


def _statements(value: Any) -> Iterator[str]:
    """Yield the sentences in a field: its lines, the items of its list, or an object's words with sources."""
    if isinstance(value, str):
        yield from _sentences(value.splitlines())
    elif isinstance(value, list):
        for item in value:
            yield from _statements(item)
    elif isinstance(value, dict):
        yield from _statement_with_sources(value)


def _statement_with_sources(value: Mapping[str, Any]) -> Iterator[str]:
    words: list[str] = []
    sources: list[str] = []
    is_plain = len(value) < _ENOUGH  # a text with its sources, not facts by their names
    for name, item in value.items():
        items = item if isinstance(item, list) else [item]
        entries = [str(each) for each in items]
        if entries and all(map(_ENTRY.match, entries)):
            sources += [f"e{entry.removeprefix('e')}" for entry in entries]
        elif isinstance(item, str):
            words.append(item if not words and is_plain else f"{name}: {item}")
        else:
            yield from _statements(item)
    if words:
        cited = f" [{', '.join(sources)}]" if sources else ""
        yield " ".join(" ".join(words).split()) + cited
