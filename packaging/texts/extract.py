"""Finds every text of the catalog in the code: the calls of translators and of text contexts.

Qt's own extractor knows neither texts with named facts nor those that are made in one place and translated in
another, so this one reads the syntax tree; the catalog that it makes is Qt's.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from source_files import SourceFile

MAKERS = {"Translator", "TextContext"}
COUNT_MARK = "%n"


@dataclass(frozen=True, order=True)
class Entry:
    """A text of the catalog: `singular` is empty if it counts nothing."""

    context: str
    source: str
    comment: str
    singular: str
    path: str
    line: int

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """Return what a catalog finds it by."""
        return self.context, self.source, self.comment, bool(self.singular)


@dataclass(frozen=True)
class Problem:
    """A call that the catalog cannot hold, and why."""

    path: str
    line: int
    why: str

    def __str__(self) -> str:
        """Return the place and the reason in one line."""
        return f"{self.path}:{self.line}: {self.why}"


class InvalidCall(Exception):
    """A call of a translator that cannot be put into the catalog."""


def extract(files: Iterable[SourceFile]) -> tuple[list[Entry], list[Problem]]:
    """Return the texts of the files, by context and source, and the calls that are wrong."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for file in files:
        if not any(maker in file.text for maker in MAKERS):
            continue
        contexts = dict(_contexts(file.tree))
        for call, context in _calls(file, contexts):
            try:
                entries.append(_entry(call, context, file.name))
            except InvalidCall as invalid:
                problems.append(Problem(file.name, call.lineno, str(invalid)))
    return sorted(entries), problems


def _contexts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of a module's translators and text contexts, each with its context."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id=maker), args=[ast.Constant(value=str(context))]),
            ) if maker in MAKERS:
                yield name, context


def _calls(file: SourceFile, contexts: dict[str, str]) -> Iterator[tuple[ast.Call, str]]:
    for node in file.nodes if contexts else ():
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in contexts:
                yield node, contexts[name]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="plural")) if name in contexts:
                yield node, contexts[name]


def _entry(call: ast.Call, context: str, path: str) -> Entry:
    is_plural = isinstance(call.func, ast.Attribute)
    texts = [_literal(argument) for argument in (call.args[1:] if is_plural else call.args)]
    singular, *texts = texts if is_plural else ["", *texts]
    source, comment, *more = [*texts, "", ""][: max(2, len(texts))]
    if not source or more or (is_plural and not singular):
        raise InvalidCall(
            "give one text (for a plural: the count, the singular, the plural) and at most one comment"
        )
    facts = {keyword.arg for keyword in call.keywords}
    if None in facts:
        raise InvalidCall("name each fact: ** hides which there are")
    for text in filter(None, (source, singular)):
        _require_facts(
            text, {fact for fact in facts if fact}, is_plural=is_plural, is_singular=text == singular
        )
    return Entry(context, source, comment, singular, path, call.lineno)


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise InvalidCall("a text of the catalog must be one literal: no variable, no f-string, no sum")


def _require_facts(text: str, facts: set[str], *, is_plural: bool, is_singular: bool) -> None:
    if is_plural and not is_singular and COUNT_MARK not in text:
        raise InvalidCall(f"a plural must have {COUNT_MARK}: {text!r}")
    marks = placeholders(text)
    if marks - facts or (not is_singular and facts - marks):
        raise InvalidCall(f"facts {sorted(facts)} must be the placeholders {sorted(marks)} of {text!r}")


def placeholders(text: str) -> set[str]:
    """Return the names in braces. Raises InvalidCall for a lone brace."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise InvalidCall(f"{error}: {text!r}") from error
