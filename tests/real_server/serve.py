"""Serves a model of 135 million parameters on loopback, prints its address, and ends when its stdin does.

A program of its own: the server is C++ with threads that nothing in Python can stop.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

SLOTS = 4
SLOT_TOKENS = 4096
LONGEST_REPLY = 256


def main(weights: str) -> None:
    library: Any = import_module("xllamacpp")
    wanted = library.CommonParams()
    wanted.model.path = weights
    wanted.chat_template = Path(__file__).with_name("hermes.jinja").read_text(encoding="utf-8")
    wanted.use_jinja = True
    wanted.n_parallel = SLOTS
    wanted.n_ctx = SLOTS * SLOT_TOKENS
    wanted.n_predict = LONGEST_REPLY
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    wanted.sampling.temp = 0.0
    wanted.sampling.seed = 1
    wanted.endpoint_slots = True
    wanted.verbosity = 0
    wanted.port = 0
    server = library.Server(wanted)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
