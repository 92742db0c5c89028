"""Loads the vocabulary and the catalog of models when it is imported, last of all.

Processes forked after that need not, nor look for garbage in what was imported: half a second of each.
"""

import gc

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.providers.tiktoken_counter import load_encoding

load_encoding(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
ModelCatalog.load(resources_dir() / "models.toml")
gc.freeze()
