"""Loads the vocabulary when it is imported, so that processes forked after that need not: 0.4 s of each."""

from helix_desktop.config.paths import resources_dir
from helix_desktop.providers.tiktoken_counter import load_encoding

load_encoding(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
