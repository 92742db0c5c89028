"""Proves that programs started by the frozen app see the user's environment, and nothing of its own.

A command of the agent and an MCP server are started for real, by turns of a scripted model.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from check.model import serving
from environment import SetupFailed

_USERS = {"LD_LIBRARY_PATH": "/nonexistent/of-the-user", "LANG": "C.UTF-8"}
_OURS = ("_PYI_", "_MEI", "PYINSTALLER_", "QT_", "QML", "SSL_CERT", "PYTHONHOME", "PYTHONPATH")
_PATIENCE_S = 60
_COMMAND = "env > seen-by-command"


def verify(program: Path) -> None:
    """Run a turn and look at what its children saw. Raises SetupFailed."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        project = folder / "project"
        project.mkdir()
        with serving(_COMMAND) as model:
            model_words = ("--model", "scripted/scripted", "--base-url", model.address)
            words = (*model_words, "--window", "32000", "--yes")
            _run(program, folder, *words, "--trust")
            _add_server(folder, project)
            _run(program, folder, *words)
        for who in ("command", "server"):
            report_file = project / f"seen-by-{who}"
            if not report_file.is_file():
                raise SetupFailed(f"the frozen app didn't start the {who} that it should start.")
            lines = [line.partition("=") for line in report_file.read_text(encoding="utf-8").splitlines()]
            _judge(who, {name: value for name, _, value in lines}, program)


def _judge(who: str, values: dict[str, str], program: Path) -> None:
    strange = [name for name in values if name.startswith(_OURS) or name.endswith("_ORIG")]
    strange += [name for name, value in values.items() if str(program.parent / "_internal") in value]
    if strange:
        raise SetupFailed(
            f"a {who} that the app starts sees {', '.join(sorted(set(strange)))}, which are ours."
        )
    # The sandbox takes what leads to other libraries; an MCP server gets what every program needs.
    if values.get("LD_LIBRARY_PATH", _USERS["LD_LIBRARY_PATH"]) != _USERS["LD_LIBRARY_PATH"]:
        raise SetupFailed(f"a {who} that the app starts sees LD_LIBRARY_PATH={values['LD_LIBRARY_PATH']}.")


def _run(program: Path, folder: Path, *words: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **_USERS}
    line = [str(program), "run", "--workspace", str(folder / "project"), "--message", "Go.", *words]
    done = subprocess.run(
        line, env=environ, capture_output=True, text=True, check=False, timeout=_PATIENCE_S, cwd=folder
    )
    if done.returncode:
        raise SetupFailed(
            f"a turn in the frozen app failed with {done.returncode}: {done.stdout}{done.stderr}"
        )


def _add_server(folder: Path, project: Path) -> None:
    """Write an MCP server into the workspace's record, as agreed to: it writes down what it sees.

    Its script is no file of the workspace: those would need a consent of their own.
    """
    (record,) = folder.rglob("workspace.toml")
    script = folder / "server.sh"
    script.write_text(f"env > '{project}/seen-by-server'\n", encoding="utf-8")
    decisive = ["sh", [str(script)], [], [], "", "", [], []]
    agreed = hashlib.sha256(json.dumps(decisive, separators=(",", ":")).encode()).hexdigest()
    entry = (
        f'[[servers]]\nname = "seeing"\ncommand = "sh"\nargs = [{json.dumps(str(script))}]\n'
        f'approved = "{agreed}"\n'
    )
    text = record.read_text(encoding="utf-8").replace("servers = []\n", "")
    record.write_text(f"{text}\n{entry}", encoding="utf-8")


if __name__ == "__main__":
    verify(Path(sys.argv[1]).resolve())
    sys.stdout.write("a command and an MCP server see the user's environment\n")
