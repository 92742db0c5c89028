"""Colors for code: lexed in short slices after the plain text is on screen."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QColor, QTextBlock, QTextCharFormat, QTextCursor, QTextDocument, QTextLayout

from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.ui.design.style.theme import CodeColors

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_SLICE_S = 0.004  # a quarter of a frame
MAX_CHARS = 200_000  # characters; more stays plain


class ColoredRun(NamedTuple):
    """A run of one color inside a line, in characters; `role` names a field of CodeColors."""

    line: int
    start: int
    length: int
    role: str


@dataclass(slots=True, eq=False)
class HighlightJob:
    """A document of one block per line that waits for its colors; lines before `first` keep theirs."""

    document: QTextDocument
    language: str
    colors: CodeColors
    first: int = 0
    shared_lexer: SharedLexer | None = None  # of the whole code, where the document is a part of it
    line: int = 0  # of the whole code, where the document begins


def colored_runs(code: str, language: str) -> Iterator[ColoredRun]:
    """Return the runs of code that have a color, in order; empty for an unknown language."""
    lexer = _lexer(language)
    if lexer is None or len(code) > MAX_CHARS:
        return
    line = column = 0
    roles: dict[object, str] = {}
    for kind, value in lexer.get_tokens(code):
        role = roles.get(kind)
        if role is None:
            role = roles[kind] = _role(str(kind))
        for number, part in enumerate(value.split("\n")):
            if number:
                line = line + 1
                column = 0
            if role and part and not part.isspace():
                yield ColoredRun(line, column, len(part), role)
            column += len(part)


class SharedLexer:
    """Long code that is lexed once from its beginning, for all the documents that show parts of it."""

    def __init__(self, code: str, language: str) -> None:
        self._runs = colored_runs(code, language)
        self._lines: dict[int, list[ColoredRun]] = {}
        self._next_line = 0

    def runs_for_lines(self, first: int, count: int) -> Iterator[ColoredRun | None]:
        """Yield the runs of `count` lines, counted from the first; None where only time has passed."""
        while self._next_line < first + count:
            run = next(self._runs, None)
            if run is None:
                break
            self._lines.setdefault(run.line, []).append(run)
            self._next_line = run.line
            yield None
        for line in range(first, first + count):
            for run in self._lines.get(line, ()):
                yield run._replace(line=line - first)


class LexerLoader:
    """Loads the lexer of a language on another thread: the first one takes a tenth of a second."""

    poll_ms = 5
    """Until the next look whether it is loaded."""

    def __init__(self) -> None:
        self._loading: tuple[str, threading.Thread] | None = None  # the last language

    def is_loaded(self, language: str) -> bool:
        """Return True if the lexer of a language is loaded; else begin to load it."""
        if self._loading is None or self._loading[0] != language:
            thread = threading.Thread(target=_lexer, args=(language,), name="helix-lexer", daemon=True)
            self._loading = language, thread
            thread.start()
        return not self._loading[1].is_alive()


class Highlighter(QObject):
    """Works through waiting documents in slices of 4 ms; tells when one has changed."""

    highlighted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs: deque[HighlightJob] = deque()
        self._running: tuple[HighlightJob, Iterator[ColoredRun | None]] | None = None
        self._loader = LexerLoader()
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._run_slice)

    def add(self, job: HighlightJob) -> None:
        if not job.language:
            return
        waiting = next((queued for queued in self._jobs if queued.document is job.document), None)
        if waiting is not None:
            waiting.first = min(waiting.first, job.first)
        else:
            self._jobs.append(job)
        self._timer.start(0)

    def clear(self) -> None:
        self._timer.stop()
        self._jobs.clear()
        self._running = None

    def finish(self) -> None:
        """Color all waiting documents now, for pictures and printing."""
        self._timer.stop()
        while self._jobs or self._running:
            self._process_jobs(float("inf"))

    def _run_slice(self) -> None:
        if self._running is None and not self._loader.is_loaded(self._jobs[0].language):
            self._timer.start(LexerLoader.poll_ms)
            return
        self._process_jobs(time.perf_counter() + _SLICE_S)
        if self._jobs or self._running:
            self._timer.start(0)

    def _process_jobs(self, deadline: float) -> None:
        if self._running is None:
            job = self._jobs.popleft()
            self._running = (job, _runs_of(job))
        job, runs = self._running
        ready: list[ColoredRun] = []
        for run in runs:
            if run is not None:
                ready.append(run)
            if time.perf_counter() > deadline and (run is None or run.line > ready[0].line):
                break
        else:
            self._running = None
        _apply(job, ready)
        self.highlighted.emit()


def _runs_of(job: HighlightJob) -> Iterator[ColoredRun | None]:
    if job.shared_lexer is not None:
        return job.shared_lexer.runs_for_lines(job.line, job.document.blockCount())
    block = job.document.findBlockByNumber(job.first)
    code = slice_units(job.document.toPlainText(), block.position()) if block.isValid() else ""
    return colored_runs(code, job.language)


def _apply(job: HighlightJob, runs: list[ColoredRun]) -> None:
    """Set the colors of lines; keep those of a line that was colored before."""
    cursor = QTextCursor(job.document)
    cursor.beginEditBlock()
    block = QTextBlock()
    text = ""
    ranges: list[QTextLayout.FormatRange] = []
    for run in runs:
        if not block.isValid() or block.blockNumber() != job.first + run.line:
            _set_formats(block, ranges)
            block = job.document.findBlockByNumber(job.first + run.line)
            text = block.text()
            before = count_units(text[: run.start])
            ranges = [old for old in block.layout().formats() if old.start < before]
        length = count_units(text[run.start : run.start + run.length])
        ranges.append(colored_range(count_units(text[: run.start]), length, getattr(job.colors, run.role)))
    _set_formats(block, ranges)
    cursor.endEditBlock()


def _set_formats(block: QTextBlock, ranges: list[QTextLayout.FormatRange]) -> None:
    if block.isValid() and ranges:
        block.layout().setFormats(ranges)


def colored_range(start: int, length: int, color: str, background: str = "") -> QTextLayout.FormatRange:
    return format_range(start, length, _char_format(color, background))


def format_range(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    part = QTextLayout.FormatRange()
    part.start = start
    part.length = length
    part.format = form
    return part


@lru_cache(maxsize=64)
def _char_format(color: str, background: str) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(QColor(color))
    if background:
        style.setBackground(QColor(background))
    return style


_ROLES = (
    ("Token.Comment", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Keyword.Type", "function"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Operator", "operator"),
    ("Token.Name.Decorator", "keyword"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Builtin", "function"),
    ("Token.Name.Class", "type"),
    ("Token.Name.Namespace", "type"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "function"),
    ("Token.Generic.Inserted", "string"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Heading", "function"),
    ("Token.Generic.Subheading", "function"),
)


def _role(kind: str) -> str:
    return next((role for prefix, role in _ROLES if kind.startswith(prefix)), "")


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
    from pygments.util import ClassNotFound

    if "." in language:
        kind = find_lexer_class_for_filename(language)
        return kind(stripnl=False) if kind else None
    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None
