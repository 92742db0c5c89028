"""argparse's own words, through the catalog."""

from __future__ import annotations

import argparse

from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def translate_argparse() -> None:
    """Let argparse speak the user's language: it looks its words up with a function of its module."""
    words = _words()
    vars(argparse).update(_=lambda message: words.get(message, message))


def _words() -> dict[str | None, str]:
    """Return argparse's texts as it looks them up, each with what to show; facts are its own placeholders."""
    return {
        "usage: ": tr("usage: "),
        "options": tr("options"),
        "positional arguments": tr("positional arguments"),
        "show this help message and exit": tr("show this help and exit"),
        "argument %(argument_name)s: %(message)s": tr(
            "argument {name}: {problem}", name="%(argument_name)s", problem="%(message)s"
        ),
        "ambiguous option: %(option)s could match %(matches)s": tr(
            "ambiguous option: {option} could match {matches}", option="%(option)s", matches="%(matches)s"
        ),
        "not allowed with argument %s": tr("can't be used with {argument}", argument="%s"),
        "expected one argument": tr("expected one argument"),
        "expected at least one argument": tr("expected at least one argument"),
        "ignored explicit argument %r": tr("takes no value (got {value})", value="%r"),
        "invalid choice: %(value)r (choose from %(choices)s)": tr(
            "invalid choice: {value} (choose from {choices})", value="%(value)r", choices="%(choices)s"
        ),
        "invalid %(type)s value: %(value)r": tr("invalid value: {value}", value="%(value)r"),
        "the following arguments are required: %s": tr(
            "the following arguments are required: {arguments}", arguments="%s"
        ),
        "unrecognized arguments: %s": tr("unrecognized arguments: {arguments}", arguments="%s"),
    }
