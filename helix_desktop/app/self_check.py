"""Proves an installation: each part is tried for real, and what is wrong is named."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import msgspec

from helix_desktop.app.checks import bundled, machine, started
from helix_desktop.app.checks.keychain import try_keychain
from helix_desktop.app.checks.painted import paint
from helix_desktop.config.build import Build, this_build
from helix_desktop.config.paths import DataDir
from helix_desktop.context.errors import HelixError

_WIDTH = 14
Check = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one part."""

    name: str
    ok: bool
    text: str


def self_check(given: argparse.Namespace) -> int:
    """Print one line per part, or all as JSON; 0 when all of them work, else 1 with the reason."""
    if given.paint_only:
        return paint()
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    outcomes = asyncio.run(_run(_checks(data, given.keyring), quiet=given.json))
    failed = sum(not one.ok for one in outcomes)
    if given.json:
        told = {"ok": not failed, "build": asdict(_build()), "checks": msgspec.to_builtins(outcomes)}
        sys.stdout.write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(
            "all parts work\n" if not failed else f"{failed} of {len(outcomes)} parts do not work\n"
        )
    return 1 if failed else 0


def _checks(data: DataDir, keyring: bool) -> dict[str, Check]:
    """The parts in the order in which they are told."""
    return {
        "versions": bundled.versions,
        "resources": bundled.resources,
        **started.Painting().checks(),
        "prompts": bundled.prompts,
        "demo": bundled.demo,
        "sample": started.sample,
        "tokens": bundled.tokens,
        "licences": bundled.licences,
        "store": machine.store,
        "search": machine.search,
        "sandbox": machine.sandbox,
        "certificates": machine.certificates,
        "mcp": started.mcp,
        "children": started.children,
        "data": machine.data(data),
        "keys": try_keychain if keyring else machine.keys,
    }


async def _run(checks: dict[str, Check], quiet: bool) -> list[Outcome]:
    outcomes = []
    for name, check in checks.items():
        try:
            outcome = Outcome(name, True, await check())
        except HelixError as error:
            outcome = Outcome(name, False, str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part has to be named
            outcome = Outcome(name, False, f"{type(error).__name__}: {error}")
        outcomes.append(outcome)
        if not quiet:
            sys.stdout.write(
                f"{'ok   ' if outcome.ok else 'FAIL '} {name:<{_WIDTH}} {' '.join(outcome.text.split())}\n"
            )
    return outcomes


def _build() -> Build:
    try:
        return this_build()
    except HelixError:  # the check of versions names it
        return Build()
