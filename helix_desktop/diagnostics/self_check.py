"""Check an installation: try each part for real, and report what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import msgspec

from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.paths import DataDir
from helix_desktop.diagnostics.checks import bundled, machine, subprocesses
from helix_desktop.diagnostics.checks.rendering import run_render_checks
from helix_desktop.domain.errors import HelixError

_WIDTH = 14
Check = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    name: str
    ok: bool
    text: str


def self_check(args: argparse.Namespace) -> int:
    """Print one line per part, or all as JSON; return 0 if all of them work, else 1."""
    if args.paint_only:
        return run_render_checks()
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    results = asyncio.run(_run_checks(_checks(data, args.keyring), quiet=args.json))
    failed = sum(not result.ok for result in results)
    if args.json:
        report = {
            "ok": not failed,
            "build": asdict(_build_or_empty()),
            "checks": msgspec.to_builtins(results),
        }
        sys.stdout.write(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(
            "all parts work\n" if not failed else f"{failed} of {len(results)} parts do not work\n"
        )
    return 1 if failed else 0


def _checks(data: DataDir, keyring: bool) -> dict[str, Check]:
    """Return the checks in the order in which they are reported."""
    return {
        "versions": bundled.versions,
        "resources": bundled.resources,
        **subprocesses.RenderCheckProcess().checks(),
        "prompts": bundled.prompts,
        "demo": bundled.demo,
        "sample": subprocesses.sample,
        "tokens": bundled.tokens,
        "licences": bundled.licences,
        "store": machine.store,
        "search": machine.search,
        "sandbox": machine.sandbox,
        "certificates": machine.certificates,
        "mcp": subprocesses.mcp,
        "children": subprocesses.children,
        "data": machine.data(data),
        "keys": machine.try_keychain if keyring else machine.keys,
    }


async def _run_checks(checks: dict[str, Check], quiet: bool) -> list[CheckResult]:
    results = []
    for name, check in checks.items():
        try:
            result = CheckResult(name, True, await check())
        except HelixError as error:
            result = CheckResult(name, False, str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part has to be named
            result = CheckResult(name, False, f"{type(error).__name__}: {error}")
        results.append(result)
        if not quiet:
            sys.stdout.write(
                f"{'ok   ' if result.ok else 'FAIL '} {name:<{_WIDTH}} {' '.join(result.text.split())}\n"
            )
    return results


def _build_or_empty() -> Build:
    try:
        return current_build()
    except HelixError:  # the check of versions names it
        return Build()
