"""Descriptions: what an output or an argument holds, in a few words; and lines with errors or results.

Errors and results are reported by test runners, compilers, build tools and tracebacks. A word in a name is no
report: a passed test called `test_error_handling`, a package `errors`, `0 failed`.

They stand in markers, notes, index lines and the Outputs page, so that nobody has to open a content to
know what is in it: source by its definitions, a command by its last informative line, JSON by its keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS, COMMAND_HEADER, MATCHES_HEADER, ToolKind
from helix_desktop.domain.failed_tests import TESTS_PASSED, passed_tests
from helix_desktop.domain.files.file_use import is_symbol_lookup, tool_kind
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.unicode_safety import without_direction_signs

RESULT = 0
"""The rank of the most informative lines: the result of a run that failed."""
REPORT = 1
"""The rank of a line that reports an error."""
MENTION = 2
"""The rank of a line that may be an error."""

_SEARCHED = 65_536  # characters of a line to search: a regex search blocks all other threads
_MAX_TEST_LINE = 1_000  # characters; a line about one test, or the result of all, is never longer
_MAX_SHAPES = 10_000
_NUMBER = re.compile(r"[1-9]\d*")  # that there are none of something matters, not how many there are
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_WORDS = (
    *("err", "fail", "exception", "fatal", "traceback", "panic", "denied", "not found", "exit "),
    *("warn", "undefined reference", "xpass", "short test summary", "passed", "✕", "✗", "✘", "✖", "×", "●"),
)
_SAME_DIGITS = str.maketrans("23456789", "1" * 8)  # not of 0, which may say that there are none
_PYTEST_ERROR = "E   "
_ERROR_PLACE = re.compile(r"[^\s:]+:\d+:\d+: (?!note)\S")
_PASSED_START = re.compile(
    r"(?:\[gw\d+\]\s*)?(?:\[ *\d+%\]\s*)?(?:PASSED|SKIPPED)\b"  # pytest -rA, with xdist
    r"|\s*--- (?:PASS|SKIP): |=== (?:RUN|PAUSE|CONT|NAME)\b|(?:ok|\?) +\t?\S+\s|(?:ok|\?)\s+\S+$"  # go test
    r"|\s*[✓✔√]|PASS\b|\s*ok \d+\b"  # jest, mocha, TAP
    r"|\s*\d+/\d+ Test +#\d+:.*\bPassed\b"  # ctest
    r"|\[INFO\] (?:Running|Building|Compiling|Copying|Including|Installing|Downloaded|Downloading) "  # maven
)
_PASSED_MARKS = ("PASSED", "SKIPPED", "... ")
_PASSED_END = re.compile(
    r"\b(?:PASSED|SKIPPED)\b(?: \(.*\))?\s*(?:\[ *\d+%\])?\s*$"  # pytest -v, gradle
    r"| \.\.\. (?:ok|ignored|skipped\b.*)\s*$"  # unittest -v, cargo test
)
_NOTHING_WRONG = re.compile(
    r"\b(?:0|no|zero|without)(?: (?:\w+ ){0,2})(?:errors?|fail(?:ed|ing|ures?)|exceptions?)\b"
    r"|\b(?:errors?|fail(?:ed|ures?))(?: ?[:=] ?)0\b",
    re.IGNORECASE,
)
_FAILED_RESULT = re.compile(
    r"\b[1-9][\d,]*\s+(?:\w+ ){0,2}(?:failed|failures?|failing|errors?|xpassed)\b"
    r"|\b(?:[Ee]rrors?|[Ff]ail(?:ed|ures?)) ?[:=] ?[1-9]"
    r"|\bBUILD FAIL(?:ED|URE)\b|\btest result: FAILED|^FAILED \(|^FAIL\s+\S+\s+(?:[\d.]+s|\[)"
    r"|\bshort test summary\b|\baborting due to\b"
)
_REPORT = re.compile(
    r"\b(?:Traceback|FATAL|Segmentation fault|FAILED|FAIL|FAILURES?|XPASS|ERROR|Error|Exception)\b"
    r"|\b[A-Z]\w*(?:Error|Exception)\b(?!\.\w)|\bfatal(?: error)?:|\berror(?: ?\[\w+\]| TS\d+)?:|\berror:"
    r"|\bpanic: |\bpanicked at|\bexit (?:code|status) [1-9]|\breturned [1-9]\d* exit status"
    r"|\bundefined reference\b|\bnpm ERR!|^E {3}|^\s*[✕✗✘✖×] |● .+ \u203a "
)
_MENTION = re.compile(
    r"(?<![\w/\\.-])(?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?|fatal|traceback|panic(?:ked)?|denied|xfail)"
    r"(?![\w/\\-]|\.\w|::)|\bnot found\b|\bexit (?:code|status)\b|\b\d+ passed\b"
    r"|(?-i:\bWARN(?:ING)?\b)|\bwarning: ",
    re.IGNORECASE,
)
_PATTERNS = ((RESULT, _FAILED_RESULT), (REPORT, _REPORT), (MENTION, _MENTION))


class ErrorMatch(msgspec.Struct, frozen=True):
    """Where a line reports something: the character it begins at, and its rank."""

    index: int
    rank: int


def find_error(line: str) -> ErrorMatch | None:
    """Return what a line of an output reports; None if it reports no error and no result."""
    line = line[:_SEARCHED]
    return _judge(line) if _has_word(line) else _place_in_file(line)


def _judge(line: str) -> ErrorMatch | None:
    lower = line.lower()
    if len(line) <= _MAX_TEST_LINE and _is_passed_test(_COLOR.sub("", line) if "\x1b" in line else line):
        return None
    if "0" in line or "no" in lower or "zero" in lower or "without" in lower:
        line = _NOTHING_WRONG.sub(_blank, line)
    for rank, pattern in _PATTERNS:
        match = pattern.search(line)
        if match is not None:
            return ErrorMatch(match.start(), rank)
    return None


class ErrorFinder:
    """Finds errors in the lines of one output; lines that differ in numbers only are judged once."""

    def __init__(self) -> None:
        self._by_shape: dict[str, ErrorMatch | None] = {}
        self._by_digits: dict[str, ErrorMatch | None] = {}  # one shape for each number of digits

    def find(self, line: str) -> ErrorMatch | None:
        """Return what a line reports, as `find_error` does; its index may be that of a line alike."""
        if len(line) > _MAX_TEST_LINE:
            return find_error(line)
        key = line.translate(_SAME_DIGITS)
        if key not in self._by_digits:
            if len(self._by_digits) >= _MAX_SHAPES:
                self._by_digits.clear()
            self._by_digits[key] = self._find(line)
        return self._by_digits[key]

    def _find(self, line: str) -> ErrorMatch | None:
        if not _has_word(line):
            return _place_in_file(line)
        shape = _NUMBER.sub("#", line)
        if shape not in self._by_shape:
            if len(self._by_shape) >= _MAX_SHAPES:
                self._by_shape.clear()
            self._by_shape[shape] = _judge(line)
        return self._by_shape[shape]


def lines_worth_reading(lines: Sequence[str], most: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their places; of more than `most` the first and last, and those with a word.

    The words are looked for in all of the text at once: line by line, 30 MB of short lines take minutes.
    """
    if len(lines) <= most:
        yield from enumerate(lines)
        return
    side = most // 4
    yield from enumerate(lines[:side])
    middle = "\n".join(lines[side:-side]).lower()
    place = position = 0
    for start in _word_places(middle, most):
        if start < position:
            continue  # in a line that was yielded
        place += middle.count("\n", position, start)
        yield side + place, lines[side + place]
        position = middle.find("\n", start) + 1
        if not position:
            break
        place += 1
    yield from ((len(lines) - back, lines[-back]) for back in range(side, 0, -1))


def _word_places(text: str, most: int) -> list[int]:
    """Return where the words stand in a text in lower case, in order; of each the first ones."""
    places: list[int] = []
    for word in _WORDS:
        start = text.find(word)
        count = 0
        while start >= 0 and count < most:
            places.append(start)
            count += 1
            start = text.find(word, start + 1)
    return sorted(places)


def _place_in_file(line: str) -> ErrorMatch | None:
    """Return a mention if the line is about a place in a file, as compilers write it."""
    return ErrorMatch(0, MENTION) if _ERROR_PLACE.match(line) is not None else None


def _has_word(line: str) -> bool:
    lower = line.lower()
    for word in _WORDS:  # `any` with a generator takes half as long again, for each line of an output
        if word in lower:
            return True
    return line.startswith(_PYTEST_ERROR)


def _is_passed_test(line: str) -> bool:
    """Return True for a line on one test, or one file of tests, that passed or did not run."""
    return _PASSED_START.match(line) is not None or (
        any(mark in line for mark in _PASSED_MARKS) and _PASSED_END.search(line) is not None
    )


def _blank(match: re.Match[str]) -> str:
    """Return as many spaces, so that what follows keeps its place."""
    return " " * len(match[0])


CAP = 90  # characters
_QUOTED_CAP = CAP - 12  # of a line of a command: its exit code stands before it
_READ_CHARS = 32_768  # characters of a text that are read, from each end
_EDIT_CHARS = 44  # of the first new line of one edit among several
_MAX_NAMES = 6
_FENCE = "```"
_MAX_LINES = 400
_LAST_LINES = 40  # of a command, among which one says how it ended
_SUMMARY_LINES = 12  # first lines of a lookup, in which it says how much it found
_PLACE_EXTRA = 9  # characters of a place beside its path
_LINE_NUMBER = re.compile(r"^[^\S\n]*\d+(?:→|\t|: ?|\| ?)", re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?:export |default |public |private |protected |internal |static |final |abstract |async "
    r"|pub(?:\([a-z]+\))? |unsafe |sealed |data |open |override )*"
    r"(?:(?:class|def|function\*?|func|fn|interface|struct|enum|trait|type|impl|module|namespace|object"
    r"|protocol)\s+(?:\([^)]*\)\s*)?|(?:const|let|var)\s+(?=\w+\s*=\s*(?:async\s*)?(?:function|\()))"
    r"(?P<name>[A-Za-z_$][\w$]*+)(?!\s+(?!extends|implements|for|where|with)[a-z]+ [a-z])"  # else a sentence
)
_METHOD = re.compile(
    r"(?:(?:public|private|protected|internal|static|final|abstract|async|override|virtual) )+"
    r"[^=;(]*?(?P<name>\w+)\("
)
_TEST_CASE = re.compile(r"(?:it|test)(?:\.\w+)?\(\s*([\"'`])(?P<name>[^\"'`\n]{1,80})\1")
"""A test of JavaScript: its name is a text."""
_ASSIGNED = re.compile(
    r"(?:export |const |let |var |final )*(?P<name>[A-Za-z_$][\w$]*)(?: ?: ?[^=\n]{1,60})? ?= ?[^=>\s]"
)
_DEFINITION_CHARS = 400  # of a line, in which it defines something or does not
_LEAST_DEFINED = 3  # names from which on a text is source, or a file of constants
_RUN_REPORT = re.compile(r"^(?:Traceback \(most recent call|E {3}|={3,} |FAILED |panic: )", re.MULTILINE)
_HEADING = re.compile(r"^#{1,4}\s+(?P<name>\S.*)")
_FOUND = re.compile(
    r"\b(?P<count>\d[\d,]{0,12}|[Nn]o) "
    r"(?P<what>(?:occurrence|match|reference|usage|call|definition|symbol|result)e?[rs]*)\b"
    r"(?: (?:of|for) \S{1,200})?(?P<files> (?:in|across) \d[\d,]* files?\b)?"
)
_PLACE = re.compile(
    r"(?<![\w.@~+/\\-])(?P<path>[\w.@~+/\\-]{1,200}\.\w{1,9})"
    r"(?::| \(Line |:?\r?\n[\s*-]{0,9}Line )(?P<line>\d+)"
)
_ALPHANUMERIC = re.compile(r"[^\W_]")
_NOT_INFORMATIVE = re.compile(
    r"(?:import|from|package|using|use|#include|require|@)\b"
    r"|(?:/\*+|\*+/?|//+|#+|--+|=+|-+|\"\"\"|'''|<!--|%+)?\s*$|#!|--- Observation ---|exit code \d+ \("
    r"|Information about$",
    re.IGNORECASE,
)
_INFORMATIVE_END = re.compile(
    r"\b\d+ (?:passed|failed|errors?|failures?|tests?|warnings?|problems?|issues?|skipped|xfailed|xpassed"
    r"|files?)\b"
    r"|\b(?:FAIL(?:ED)?|PASS(?:ED)?|OK|BUILD|SUCCESS(?:FUL)?|Traceback|panic:|fatal:|error(?:\[\w+\])?:)"
    r"|\b[A-Z]\w*(?:Error|Exception)\b|^ok \S+ (?:[\d.]+s\b|\(cached\))"
)
_CHANGED = re.compile(r"\d+ files? changed, ")  # of `git diff --stat`, often behind the tests
_PACKAGE_OK = re.compile(r"ok \S+/\S+ (?:\(cached\)|[\d.]+s\b)")  # of `go test`: a line each
_MANY_LINES = 20  # of an output whose last line, without a result, says less than what all of it is
_STATUS_ALONE = re.compile(r"\W*(FAIL(?:ED)?|PASS(?:ED)?|OK|SUCCESS(?:FUL)?)\W*")
_EDITED = re.compile(r"^Edited (.{1,400}): \d+ replacement", re.MULTILINE)
"""What an edit of several files says of each."""
_DIFF_FILE = re.compile(r"^diff --git a/.{1,400}? b/(?P<path>[^\n\r]{1,400})", re.MULTILINE)
_RULE_CHARS = " =_*#~.-"

_MAX_HEADER = 8_192  # bytes of a header's line
FILE_PART = re.compile(r"Lines (\d{1,9})-\d+ of \d+ of [^\n]*:\n(?=\1:)")
"""The line above a part of a file, whose lines have numbers."""


def count_header_lines(tool: str, text: str) -> int:
    """Return how many lines of an output are about it: how a command ended, which lines or files follow."""
    builtin = BUILTIN_TOOLS.get(tool)
    header = builtin.header.match(text) if builtin is not None and builtin.header is not None else None
    if builtin is None or header is None:
        return 0
    if builtin.grouped:
        return sum(not line.startswith("  ") for line in text.splitlines())
    return header[0].count("\n") + 1


def count_matching_lines(text: str) -> int:
    """Return how many lines a search found, as its output says above them; 0 if it does not."""
    header = MATCHES_HEADER.match(text)
    return int(header["count"].split()[0].replace(",", "")) if header else 0


def lines_before_part(tool: str, text: str) -> int:
    """Return how many lines more the numbers of an output's lines count than its text has before them.

    A part of a file has the file's numbers. The lines of a command count from 1 below the header, which
    takes one from them.
    """
    builtin = BUILTIN_TOOLS.get(tool)
    first = FILE_PART.match(text) if builtin is not None and builtin.shows_lines else None
    if first is not None:
        return int(first[1]) - 2
    return -heads_numbered_lines(tool, text[:_MAX_HEADER].partition("\n")[0])


def heads_numbered_lines(tool: str, line: str) -> bool:
    """Return True for the line above what a command printed, if the lines below it count from 1.

    It ends with a colon then. Older outputs count it as their first line, as texts in their logs do.
    """
    is_command = tool in BUILTIN_TOOLS and BUILTIN_TOOLS[tool].kind == "command"
    return is_command and line.endswith(":") and line.startswith(("exit code ", "no exit code"))


def number_of_first_line(tool: str, data: bytes) -> int:
    """Return the number of an output's first line: of a header, one less than that of the line below it.

    A part of a file has the numbers that its lines have there.
    """
    text = data[:_MAX_HEADER].decode("utf-8", "replace")
    return 1 + lines_before_part(tool, text)


def describe_output(tool: str, text: str, exit_code: int | None = None) -> str:
    """Return what a tool's output holds, in at most 90 characters; empty if nothing tells."""
    builtin = BUILTIN_TOOLS.get(tool)
    header = (
        builtin.header.match(text) if builtin is not None and builtin.shows_lines and builtin.header else None
    )
    about = _symbol_places(text) if is_symbol_lookup(tool) else ""
    if header is not None:
        text = text[header.end() :]
        about = _names(text, with_inner=True)
    about = about or _describe(tool_kind(tool), text, exit_code)
    if exit_code is not None:
        about = f"exit {exit_code}, {about}" if about else f"exit {exit_code}"
    return ellipsize(without_direction_signs(about), CAP)


def describe_text(text: str) -> str:
    return ellipsize(without_direction_signs(_describe("read", text)), CAP)


def _describe(kind: ToolKind, text: str, exit_code: int | None = None) -> str:
    match kind:
        case "command":
            return _json_of_command(text) or _last_informative_line(text, exit_code)
        case "search" | "list":
            return _first_informative_line(text)
        case "edit" if len(paths := _EDITED.findall(text[:_READ_CHARS])) > 1:
            return _with_paths(f"{len(paths)} files: ", paths, CAP)
        case _:
            return _json_keys(text) or _names(text) or _first_informative_line(text)


@lru_cache(maxsize=1)  # the next question is about the same text
def _head_lines(text: str) -> list[str]:
    return _LINE_NUMBER.sub("", text[:_READ_CHARS]).split("\n")[:_MAX_LINES]


def _names(text: str, *, with_inner: bool = False) -> str:
    """Return the top definitions of a source file, public ones first, or the headings of a document.

    Of a part of a file also those inside a class: its own head may not be there. Of a file that defines
    nothing else the names that it assigns.
    """
    lines = _head_lines(text)
    parts = [line.lstrip() for line in lines] if with_inner else lines
    found = [match for part in parts if (match := _DEFINITION.match(part)) is not None]
    if not found and _FENCE not in text[:_READ_CHARS]:  # in a document that quotes source headings say more
        assigned = [match for line in lines if (match := _ASSIGNED.match(line)) is not None]
        found = assigned if len({match["name"] for match in assigned}) >= _LEAST_DEFINED else []
    names = sorted(dict.fromkeys(match["name"] for match in found), key=lambda name: name.startswith("_"))
    if not names:
        found = [match for line in lines if line.startswith("#") and (match := _HEADING.match(line))]
        names = list(dict.fromkeys(" ".join(match["name"].split()) for match in found))
    return _join(names)


def is_source(tool: str, text: str) -> bool:
    """Return True for a file that was read and defines several names, and is no report of a run."""
    if tool_kind(tool) != "read" or _RUN_REPORT.search(text[:_READ_CHARS]):
        return False
    found = (_DEFINITION.match(line.lstrip()) for line in _head_lines(text))
    return len({match["name"] for match in found if match}) >= _LEAST_DEFINED


def is_definition(line: str) -> bool:
    """Return True for a line of source, with its number or without, that defines a name at any depth."""
    plain = _LINE_NUMBER.sub("", line[:_DEFINITION_CHARS]).lstrip()
    return _DEFINITION.match(plain) is not None or _METHOD.match(plain) is not None


def defined_names(text: str) -> list[str]:
    """Return the names that source defines at any depth, of a patch in the lines that it adds."""
    lines = _head_lines(text)
    if any(line.startswith("*** ") for line in lines):
        lines = [line[1:] for line in lines if line.startswith("+")]
    found = (_defined_name(line[:_DEFINITION_CHARS].lstrip()) for line in lines)
    return list(dict.fromkeys(filter(None, found)))


def _defined_name(line: str) -> str:
    match = _DEFINITION.match(line) or _METHOD.match(line) or _TEST_CASE.match(line)
    return match["name"] if match else ""


def _join(names: Sequence[str]) -> str:
    names_text = ", ".join(ellipsize(name, 40) for name in names[:_MAX_NAMES])
    return f"{names_text}, …" if len(names) > _MAX_NAMES else names_text


def _json_keys(text: str) -> str:
    stripped = text[:_READ_CHARS].lstrip()
    if stripped[:1] not in ("{", "[") or len(text) > _READ_CHARS:
        return _cut_json_keys(stripped) if re.match(r'\{\s*"', stripped) else ""
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""
    if isinstance(value, dict):
        return f"JSON: {_join(list(map(str, value)))}" if value else "JSON: {}"
    if edits := _new_lines(value):
        return f"{pluralize(len(value), 'edit')}: {edits}"
    first = next((item for item in value if isinstance(item, dict)), None)
    keys = f" of {_join(list(map(str, first)))}" if first else ""
    return f"JSON: {pluralize(len(value), 'item')}{keys}"


def _json_of_command(text: str) -> str:
    """Return the keys of the JSON that a command printed; empty if it printed anything else."""
    header = COMMAND_HEADER.match(text)
    body = text[header.end() :] if header else text
    return _json_keys(body) if body.rstrip()[-1:] in ("}", "]") else ""


def _new_lines(items: Iterable[Any]) -> str:
    """Return the first line that is new in each of these edits of a file; empty if they are none."""
    found = []
    for item in items:
        old, new = (
            (item.get(key) for key in ("old_text", "new_text")) if isinstance(item, dict) else ("", None)
        )
        if not isinstance(old, str) or not isinstance(new, str):
            return ""
        old_lines = set(old.splitlines())
        lines = (" ".join(line.split()) for line in new.splitlines() if line not in old_lines)
        found.append(next(filter(_is_informative, lines), ""))
    return " | ".join(ellipsize(line, _EDIT_CHARS) for line in found if line)


def _cut_json_keys(text: str) -> str:
    keys = list(dict.fromkeys(re.findall(r'^[\s{]{0,4}"([^"\n]{1,60})"\s*:', text, re.MULTILINE)))
    return f"JSON: {_join(keys)}" if keys else ""


def _symbol_places(text: str) -> str:
    head = "\n".join(text[:_READ_CHARS].split("\n", _SUMMARY_LINES)[:_SUMMARY_LINES])
    found = _FOUND.search(head)
    if found is None:
        return ""
    about = f"{found['count']} {found['what']}{found['files'] or ''}"
    place = _PLACE.search(text, found.end(), _READ_CHARS) if found["count"] not in ("no", "No") else None
    if place is None:
        return about
    path = place["path"]
    if len(about) + len(path) + _PLACE_EXTRA > CAP:
        path = re.split(r"[/\\]", path)[-1]
    return f"{about}: {path}:{place['line']}"


def _with_paths(head: str, paths: list[str], cap: int) -> str:
    """Return a head with these paths, as many as `cap` characters have room for."""
    while len(head) + len(", ".join(paths)) > cap and len(paths) > 1:
        paths = [*paths[:-2], "…"] if paths[-1] == "…" else [*paths[:-1], "…"]
    return head + ", ".join(paths)


def _is_informative(line: str) -> bool:
    return _ALPHANUMERIC.search(line) is not None and _NOT_INFORMATIVE.match(line) is None


def _first_informative_line(text: str) -> str:
    lines = (" ".join(line.split()) for line in _head_lines(text))
    first = _first(filter(_is_informative, lines))
    return f'"{ellipsize(first, CAP - 2)}"' if first else ""


def _last_informative_line(text: str, exit_code: int | None) -> str:
    """Return the last line that says how a command ended, else why it failed, else its last line.

    Of one that failed what went well is no reason, as that was a command before: a result of tests that
    passed stands before the error. Of one that ended with 0 no error behind such a result: a command behind
    the tests printed it.
    """
    failed = bool(exit_code)
    lines = [" ".join(line.split()) for line in reversed(text[-_READ_CHARS:].split("\n"))]
    candidates = list(islice(filter(_is_informative, lines), _LAST_LINES))
    endings = [line for line in candidates if _INFORMATIVE_END.search(line)]
    endings = [line for line in endings if not _CHANGED.match(line)] or endings
    if exit_code == 0 and endings and _rank_of(endings[0]) == REPORT:
        endings = _test_results(lines) or endings
    failures = [line for line in endings if _rank_of(line) in (RESULT, REPORT)] if failed else []
    why = _error_line(lines) if failed and not failures else ""
    endings = failures or ([] if why else endings)
    if not (endings or why) and text.count("\n") > _MANY_LINES and (all_of_it := _printed(text)):
        return all_of_it
    line = _with_details(endings) if endings else why or _first(candidates)
    plain = line.strip(_RULE_CHARS) or line
    if _PACKAGE_OK.match(plain) and (packages := sum(map(bool, map(_PACKAGE_OK.match, lines)))) > 1:
        plain = f"{packages} packages ok"
    if (failures or why) and (passed := passed_tests(text[-_READ_CHARS:])):
        plain = f"{passed}; {plain}"
    return f'"{ellipsize(plain, _QUOTED_CAP)}"' if plain else ""


def _rank_of(line: str) -> int | None:
    error = find_error(line)
    return error.rank if error is not None else None


def _test_results(lines: Sequence[str]) -> list[str]:
    """Return the lines that say how tests went, in the order given; none if no test passed."""
    if not any(map(TESTS_PASSED.match, lines)):
        return []
    return [
        line
        for line in lines
        if TESTS_PASSED.match(line) or _STATUS_ALONE.fullmatch(line) or _rank_of(line) == RESULT
    ]


def _printed(text: str) -> str:
    """Return what a long output without a result is: the files of a diff, keys of JSON, or its start."""
    header = COMMAND_HEADER.match(text)
    body = text[header.end() :].lstrip("\n") if header else text
    if body.startswith("diff --git a/"):
        paths = list(dict.fromkeys(match["path"] for match in _DIFF_FILE.finditer(body[: 4 * _READ_CHARS])))
        return _with_paths(f"diff of {pluralize(len(paths), 'file')}: ", paths, _QUOTED_CAP)
    if body[:1] == "{" and (keys := _cut_json_keys(body)):
        return keys
    return _first_informative_line(body)


def _error_line(lines: Iterable[str]) -> str:
    """Return the last of these lines, given from the end, that reports an error; empty if none does."""
    finder = ErrorFinder()
    errors = (line for line in lines if (error := finder.find(line)) is not None and error.rank == REPORT)
    return _first(line for line in errors if not line.startswith("exit "))


def _with_details(endings: Sequence[str]) -> str:
    """Return the last of these lines, given newest first; for a status alone the line that says of what."""
    alone = _STATUS_ALONE.fullmatch(endings[0])
    details = [line for line in endings if _STATUS_ALONE.fullmatch(line) is None]
    if alone is None or not details:
        return endings[0]
    same = (line for line in details if re.search(rf"\b{alone[1]}\b", line))
    status = f": {alone[1]}"
    return next(same, "") or ellipsize(details[0].strip(_RULE_CHARS), _QUOTED_CAP - len(status)) + status


def _first(lines: Iterable[str]) -> str:
    return next(iter(lines), "")
