"""A network of its own for a command in bubblewrap, by pasta or slirp4netns: no socket of others is in it.

For kernels whose Landlock can't keep a command away from sockets without a path. The host's localhost is out
of reach as well; host names are found through an address of the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SEARCH_PATH = "/usr/bin:/bin:/usr/local/bin"
_PROBE_S = 10
_RESOLVERS = {"pasta": "169.254.1.1", "slirp4netns": "10.0.2.3"}
"""The programs, the preferred one first, and where each finds host names for commands."""
_CONNECT = """
exec 4<>"$1/start" 5<"$1/life"
read -r pid <&5 || exit
case $2 in
*/pasta)
    as_root=; [ "$(id -u)" != 0 ] || as_root='--runas 0:0'
    "$2" $as_root --config-net -t none -u none -T none -U none --no-map-gw --dns-forward "$3" \\
        -P "$1/pid" "$pid" 2>"$1/log" 4<&- 5<&- && read -r connected <"$1/pid"
    ;;
*)
    "$2" -c --disable-host-loopback -r 6 "$pid" tap0 2>"$1/log" 4<&- 5<&- 6>"$1/ready" &
    connected=$!
    read -r _ <"$1/ready"
    kill -0 $connected || connected=
    ;;
esac
[ -n "$connected" ] || echo "The network of the sandbox could not be connected." >&2
exec 2>/dev/null
echo >&4
read -r _ <&5
[ -z "$connected" ] || { kill "$connected"; wait; }
"""
"""A script that connects the network of a process, lets it go on, and disconnects when it has ended.

It is no part of the group of the command, which may be killed at once.
"""
_RUN = """
env -i PATH="$PATH" setsid sh -c "$1" connect "$2" "$3" "$4" </dev/null >/dev/null &
start=$2/start
exec 5>"$2/life"
shift 4
exec unshare --user --map-current-user --net \\
    /bin/sh -c 'start=$1; shift; echo $$ >&5; read -r _ <"$start"; exec "$@"' sh "$start" "$@"
"""
_HAS_ROUTE = """
tail -n +2 /proc/net/route | grep -q . ||
    grep '^00000000000000000000000000000000 00 ' /proc/net/ipv6_route | grep -qv ' lo$'
"""


@dataclass(frozen=True)
class NetworkProgram:
    """A program that connects a sandbox's network; `resolver` is where it finds host names for commands."""

    path: str
    resolver: str

    @contextmanager
    def wrap(self, line: Sequence[str], folder: Path | None) -> Iterator[tuple[list[str], list[str]]]:
        """Yield what runs a line of bubblewrap after some words, and the options that it needs; blocks.

        `folder` is for files that no command sees. Raises OSError.
        """
        made = Path(tempfile.mkdtemp(dir=folder))
        try:
            for name in ("life", "start", "ready"):
                os.mkfifo(made / name, 0o600)
            (made / "resolv.conf").write_text(f"nameserver {self.resolver}\n")
            names = os.path.realpath("/etc/resolv.conf")
            options = ["--sync-fd", "5", "--ro-bind-try", str(made / "resolv.conf"), names]
            yield ["/bin/sh", "-c", _RUN, "sh", _CONNECT, str(made), self.path, self.resolver, *line], options
        finally:
            shutil.rmtree(made, ignore_errors=True)


def find_network_program(
    bwrap: Sequence[str], names: Sequence[str] = tuple(_RESOLVERS)
) -> NetworkProgram | None:
    """Return the first of the programs that works here with bubblewrap and its options.

    Blocks for 50 to 200 ms.
    """
    for name in names:
        path = shutil.which(name, path=_SEARCH_PATH)
        if path is not None:
            program = NetworkProgram(path, _RESOLVERS[name])
            if _works(program, bwrap):
                return program
    return None


def _works(program: NetworkProgram, bwrap: Sequence[str]) -> bool:
    """Return True if a sandbox with this program has a way out."""
    system = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    listing = ("--", "/bin/sh", "-c", _HAS_ROUTE)
    try:
        with program.wrap(bwrap, None) as (line, options):
            command = [*line, *system, *options, *listing]
            probe = subprocess.run(command, capture_output=True, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0
