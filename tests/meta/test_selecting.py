"""Tests of the interface select by object name: a text on screen can be rewritten without touching them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = 1
"""Places that still select by label; it may only go down. The one finds chips that show data."""

SELECTORS = {"press", "click", "button", "find_button", "find_buttons", "trigger"}
KINDS = {"QPushButton", "QToolButton", "QAbstractButton", "PushButton", "IconButton"}
SAYS = {"text", "accessibleName"}


def labels(source: str) -> Iterator[int]:
    """Return the lines that select a button or a menu entry by its label."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in SELECTORS:
                words = (argument.value for argument in args if isinstance(argument, ast.Constant))
                if any(isinstance(word, str) and _is_label(word) for word in words):
                    yield node.lineno
            case ast.comprehension(iter=among, ifs=[*conditions]) if _lists_buttons(among):
                if any(_compares_words(condition) for condition in conditions):
                    yield among.lineno


def _is_label(words: str) -> bool:
    """Return True if a text looks like a label on screen, and not like a name."""
    return words[:1].isupper() or "…" in words or " " in words


def _lists_buttons(among: ast.expr) -> bool:
    match among:
        case ast.Call(func=ast.Attribute(attr="findChildren"), args=[ast.Name(id=kind)]):
            return kind in KINDS
        case ast.Call(func=ast.Attribute(attr="actions")):
            return True
    return False


def _compares_words(condition: ast.expr) -> bool:
    """Return True if a condition compares a widget's label with a text."""
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in SAYS
        for compared in ast.walk(condition)
        if isinstance(compared, ast.Compare)
        for call in ast.walk(compared)
    )


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('press(dialog, "Save")', 1),
        ('press(dialog, "save_provider")', 0),
        ('next(one for one in root.findChildren(QPushButton) if one.text() == "Save")', 1),
        ('next(one for one in menu.actions() if one.text() == text)', 1),
        ('next(one for one in menu.actions() if one.objectName() == "copy")', 0),
        ("[one.text() for one in root.findChildren(QPushButton)]", 0),
    ],
)  # fmt: skip
def test_a_selection_by_label_is_found(source: str, count: int) -> None:
    assert len(list(labels(source))) == count


def test_no_test_selects_by_label() -> None:
    paths = sorted((ROOT / "tests" / "ui").rglob("*.py"))
    places = [
        f"{path.relative_to(ROOT)}:{line}" for path in paths for line in labels(path.read_text("utf-8"))
    ]
    assert len(places) <= ALLOWED, "select by object name (tests/support/window/buttons.py):\n" + "\n".join(
        places
    )
