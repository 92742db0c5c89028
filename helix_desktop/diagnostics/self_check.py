"""Check an installation: try each part for real, and report what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.config.build_info import Build, current_build
from helix_desktop.config.paths import DataDir
from helix_desktop.diagnostics import checks
from helix_desktop.diagnostics.rendering import run_render_checks
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.translatable_text import TextContext, join_sentences, plain_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Self-check")
text = TextContext("Self-check")

_WIDTH = 14  # characters of the column of names
Check = Callable[[], Awaitable[str]]


class CheckResult(msgspec.Struct, frozen=True):
    name: str
    ok: bool
    text: str


def self_check(args: argparse.Namespace) -> int:
    """Print one line per part, or all as JSON; return 0 if all of them work, else 1."""
    if args.paint_only:
        return run_render_checks()
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    if args.with_names and args.bundle is None:
        raise InvalidInput(
            text("{option} goes with {bundle} only.", option="--with-names", bundle="--bundle"),
            fix=text("Add {bundle}, or leave {option} out.", option="--with-names", bundle="--bundle"),
        )
    if args.bundle is not None and args.bundle.exists():
        raise InvalidInput(
            text("{file} already exists.", file=args.bundle), fix=text("Choose another name for the bundle.")
        )
    in_english = args.json or args.bundle is not None
    results = asyncio.run(_run_checks(_checks(data, args.keyring, in_english=in_english), quiet=args.json))
    failed = sum(not result.ok for result in results)
    report = json.dumps(_report(results), indent=1, ensure_ascii=False) + "\n"
    if args.bundle is not None:
        asyncio.run(_save_bundle(data, report, args.bundle, with_names=args.with_names))
    if args.json:
        sys.stdout.write(report)
    else:
        sys.stdout.write(f"{_summary(failed, len(results))}\n")
        if args.bundle is not None:
            sys.stdout.write(tr("Saved {file}. Read it before you share it.", file=args.bundle) + "\n")
    return 1 if failed else 0


def _report(results: list[CheckResult]) -> dict[str, Any]:
    return {
        "ok": all(result.ok for result in results),
        "build": msgspec.to_builtins(_build_or_empty()),
        "checks": msgspec.to_builtins(results, enc_hook=plain_text),
    }


async def _save_bundle(data_dir: DataDir, report: str, path: Path, *, with_names: bool) -> None:
    # Only here: they take longer to import than most checks take, and the child that paints imports this too.
    from PySide6 import __version__ as qt_version

    from helix_desktop.services.app_services import AppServices
    from helix_desktop.services.diagnostics import Diagnostics, write_bundle

    services = AppServices(data_dir, os.environ)
    try:
        diagnostics = Diagnostics(services, Path.home(), (("Qt", qt_version),))
        files = [
            await diagnostics.self_check_file(report, with_names=with_names),
            *await diagnostics.collect(with_names=with_names),
        ]
        await asyncio.to_thread(write_bundle, path, files)
    finally:
        await services.close()


def _summary(failed: int, checks: int) -> str:
    if not failed:
        return tr("all checks passed")
    return tr.plural(failed, "%n of {checks} checks failed", "%n of {checks} checks failed", checks=checks)


def _checks(data_dir: DataDir, keyring: bool, *, in_english: bool = False) -> dict[str, Check]:
    """Return the checks in the order in which they are reported."""
    return {
        "versions": checks.versions,
        "resources": checks.resources,
        **checks.RenderCheckProcess(in_english=in_english).checks(),
        "prompts": checks.prompts,
        "demo": checks.demo,
        "sample": checks.sample,
        "tokens": checks.tokens,
        "licenses": checks.licenses,
        "store": checks.store,
        "search": checks.search,
        "sandbox": checks.sandbox,
        "certificates": checks.certificates,
        "mcp": partial(checks.mcp, in_english=in_english),
        "children": checks.children,
        "data": checks.data(data_dir),
        "keys": checks.try_keychain if keyring else checks.keys,
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
