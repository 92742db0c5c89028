"""Check an installation: try each part for real, and report what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import partial

import msgspec

from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.paths import DataDir
from helix_desktop.diagnostics.checks import bundled, machine, subprocesses
from helix_desktop.diagnostics.checks.rendering import run_render_checks
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.user_text import join_sentences, plain_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Self-check")

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
    results = asyncio.run(_run_checks(_checks(data, args.keyring, in_english=args.json), quiet=args.json))
    failed = sum(not result.ok for result in results)
    if args.json:
        report = {
            "ok": not failed,
            "build": asdict(_build_or_empty()),
            "checks": msgspec.to_builtins(results, enc_hook=plain_text),
        }
        sys.stdout.write(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{_summary(failed, len(results))}\n")
    return 1 if failed else 0


def _summary(failed: int, checks: int) -> str:
    if not failed:
        return tr("all checks passed")
    return tr.plural(failed, "%n of {checks} checks failed", "%n of {checks} checks failed", checks=checks)


def _checks(data: DataDir, keyring: bool, *, in_english: bool = False) -> dict[str, Check]:
    """Return the checks in the order in which they are reported."""
    return {
        "versions": bundled.versions,
        "resources": bundled.resources,
        **subprocesses.RenderCheckProcess(in_english=in_english).checks(),
        "prompts": bundled.prompts,
        "demo": bundled.demo,
        "sample": subprocesses.sample,
        "tokens": bundled.tokens,
        "licences": bundled.licences,
        "store": machine.store,
        "search": machine.search,
        "sandbox": machine.sandbox,
        "certificates": machine.certificates,
        "mcp": partial(subprocesses.mcp, in_english=in_english),
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
            result = CheckResult(name, False, join_sentences(error.what, error.why, error.fix))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part has to be named
            result = CheckResult(name, False, f"{type(error).__name__}: {error}")
        results.append(result)
        if not quiet:
            mark = "ok" if result.ok else "FAIL"
            finding = " ".join(translate(result.text).split())
            sys.stdout.write(f"{mark:<5} {name:<{_WIDTH}} {finding}\n")
    return results


def _build_or_empty() -> Build:
    try:
        return current_build()
    except HelixError:  # the check of versions names it
        return Build()
