"""The grants of a workspace: what its tools may do beyond its files; and programs' environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec


class ToolGrants(msgspec.Struct, frozen=True):
    """What tools may do: `sandbox`: commands run in a sandbox if the system has one; `network`: with network.

    `fetch`: there is a tool that fetches web pages; each host needs approval.
    """

    sandbox: bool = True
    network: bool = False
    fetch: bool = False


CurrentGrants = Callable[[], ToolGrants]
"""Returns the grants that hold now: the user may change them at any time."""


_SECRET = re.compile(
    r"(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|BEARER)|_KEY$|_PAT$|_PWD$"
    r"|^(AUTH|AUTHORIZATION|DATABASE_URL)$",
    re.IGNORECASE,
)
# What a frozen program or this window sets for itself would break other programs.
_OWN_VARIABLES = re.compile(
    r"LD_LIBRARY_PATH|LD_PRELOAD|DYLD_.*|QT_.*|QML.*|_MEIPASS.*|_PYI_.*|PYTHONHOME|HELIX_.*"
)
_ORIGINAL = "_ORIG"
_NON_INTERACTIVE = {
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PYTHONIOENCODING": "utf-8",
    "TERM": "dumb",
}


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` without secrets and our own variables, set for non-interactive use.

    Where PyInstaller saved the user's value (NAME_ORIG), that is restored.
    """
    cleaned = {
        name: value
        for name, value in environ.items()
        if not _SECRET.search(name) and not _OWN_VARIABLES.fullmatch(name)
    }
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        original = environ.get(name + _ORIGINAL)
        cleaned.pop(name + _ORIGINAL, None)
        if original:
            cleaned[name] = original
    return cleaned | _NON_INTERACTIVE
