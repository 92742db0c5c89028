"""Serves a model file with llama.cpp on a free port of loopback: serve.py FILE CONTEXT KEY.

Run by the peers' interpreter, which has xllamacpp. It writes its address, and ends with its parent's signal.
"""

from __future__ import annotations

import signal
import sys

import xllamacpp


def main() -> None:
    """Serve until a signal comes."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = int(sys.argv[2])
    params.n_parallel = 1
    params.api_keys = [sys.argv[3]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.warmup = False
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
