"""The rules of a text that a machine can see: forbidden words, and texts outside the catalog."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from source_files import SourceFile

from texts.extract import MAKERS, Entry, Problem

_WORDS = Path(__file__).with_name("forbidden_words.txt")
_OUTSIDE = Path(__file__).with_name("outside_the_catalog.txt")

SHOWN_BY = ("app", "cli", "demo", "diagnostics", "services", "ui", "words")
"""Packages that make texts for the user. Those below raise errors, whose texts mypy requires as entries."""

_PROSE = re.compile(r"[A-Za-z][\w'’]* +[A-Za-z][\w'’]*")
_LONE_WORD = re.compile(r"[A-Z][a-z]{2,}(…|\.|:)?")
_PART_OF_PROSE = re.compile(r"(^|\s)[A-Za-z]{2,}\s|\s[A-Za-z]{2,}(\s|$|[.,:…])")
_PROGRAMMERS_ERRORS = {
    "AssertionError",
    "KeyError",
    "LookupError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
}
_STYLE_SHEET = re.compile(r"\bQ[A-Z]\w*[^{}.!?]*\{|(^|[{;]) *[a-z-]+: [^{};]+;")
_STATEMENTS = (ast.stmt, ast.Subscript)  # whose parts may not be shown
_STARTERS = {"start", "_start"}  # of a coroutine with a name for the log
_LOGGERS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def forbidden_words(entries: Iterable[Entry]) -> list[Problem]:
    """Return the texts that have a forbidden word, and what to write instead."""
    rules = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in _table(_WORDS)]
    return [
        Problem(entry.path, entry.line, f"{found.group()!r} in {text!r}: write {instead!r}")
        for entry in entries
        for text in filter(None, (entry.source, entry.singular))
        for pattern, instead in rules
        if (found := pattern.search(text))
    ]


def outside_the_catalog(files: Iterable[SourceFile]) -> list[Problem]:
    """Return literals that look like a text for the user, and do not go through the catalog.

    Exceptions are listed with a reason in outside_the_catalog.txt: a file, or a file and a literal.
    """
    exceptions = {(path, literal) for path, literal, _ in _exceptions()}
    return [
        Problem(file.name, node.lineno, f"outside the catalog: {text!r}")
        for file in files
        if (file.name, "") not in exceptions
        for node, text in _texts(file.tree)
        if (file.name, text) not in exceptions
    ]


def unused_exceptions(root: Path) -> list[str]:
    """Return the exceptions whose file is not there, or no longer has the literal."""
    unused = []
    for path, literal, _ in _exceptions():
        file = root / path
        if not file.is_file() or (literal and literal not in file.read_text(encoding="utf-8")):
            unused.append(f"{path} | {literal}")
    return unused


@cache
def _exceptions() -> list[tuple[str, str, str]]:
    rows = [line.split(" | ") for line in _lines(_OUTSIDE)]
    return [(row[0].strip(), row[1].strip() if row[2:] else "", row[-1]) for row in rows]


def _table(path: Path) -> list[tuple[str, str]]:
    rows = [line.rpartition(" | ") for line in _lines(path)]
    return [(pattern.strip(), instead.strip()) for pattern, _, instead in rows]


def _lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _texts(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield each literal that reads like words for a user, but not docstrings, logs, programmers' errors."""
    makers = _makers(tree)
    skipped: set[ast.AST] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        skipped.update(_unshown(node, makers))  # the node or what is in it
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            parts = list(ast.iter_child_nodes(node))
            pieces = [part for part in parts if isinstance(part, ast.Constant)]
            texts = [(piece, piece.value) for piece in pieces if isinstance(piece.value, str)]
            if not _STYLE_SHEET.search("0".join(text for _, text in texts)):
                yield from ((piece, text) for piece, text in texts if _PART_OF_PROSE.search(text))
            waiting += [part for part in parts if part not in pieces]
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            looks_shown = _PROSE.search(node.value) or _LONE_WORD.fullmatch(node.value)
            if looks_shown and not _STYLE_SHEET.search(node.value):
                yield node, node.value
            continue
        waiting += ast.iter_child_nodes(node)


def _makers(tree: ast.Module) -> set[str]:
    """Return the names of a module's translators and text contexts."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_maker(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _unshown(node: ast.AST, makers: set[str]) -> Iterable[ast.AST]:
    """Return the nodes in a node, or itself, whose literals no user reads, or that are in the catalog."""
    if isinstance(node, ast.Call):
        return _unshown_in_call(node, makers)
    if isinstance(node, _STATEMENTS):
        return _unshown_in_statement(node)
    return ()


def _unshown_in_call(call: ast.Call, makers: set[str]) -> Iterator[ast.AST]:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="plural") if name in makers:
            yield from (argument for argument in call.args if isinstance(argument, ast.Constant))
        case ast.Attribute(value=ast.Name(id="log" | "_log" | "_LOG"), attr=attr) if attr in _LOGGERS:
            yield call
        case ast.Name(id="cast"):
            yield call.args[0]
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _STARTERS:
            yield from call.args[1:]
        case ast.Attribute(attr="setStyleSheet"):
            yield call
    if _is_maker(call):
        yield call


def _unshown_in_statement(node: ast.stmt | ast.Subscript) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()):
            yield node
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name))) if name in _PROGRAMMERS_ERRORS:
            yield node
        case ast.Assert(msg=ast.expr() as message):
            yield message
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.Subscript(value=ast.Name(id="Literal")):
            yield node
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from filter(None, (node.returns, *(argument.annotation for argument in node.args.args)))


def _is_maker(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS
