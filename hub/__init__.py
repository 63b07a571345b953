"""Verified weights: model cards, downloads, and readers that never run what they read.

    import hub

    card = hub.get_card("resnet18.tv_in1k_v1")     # facts: files, input, accuracy, licence
    path = hub.weights(card)                       # a verified file in the cache
    state = hub.read_state_dict(path)              # dict of numpy arrays, mapped where possible
    hub.fetch_file("hf:ORG/REPO/FILE").path        # weights that no card describes

Files come from the URLs of a card into a content-addressed cache (`ZOO_HOME`, else the platform's
cache folder); size and SHA-256 are checked before a file gets its name. `ZOO_OFFLINE=1` forbids
the network, `ZOO_MIRROR` names copies, `ZOO_SHARED` caches that are only read; a `zoo.lock` pins
what a project uses. `.safetensors` files, indices of shards and `.pth` files of every PyTorch are
recognised by content; pickles are read by an allow list of opcodes and globals. Every failure is a
`HubError`.

Names are imported when first used: `import hub` alone loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.atomic import atomic_file as atomic_file
    from hub.atomic import fsync_folder as fsync_folder
    from hub.by_address import FetchedFile as FetchedFile
    from hub.by_address import fetch_file as fetch_file
    from hub.cache import cache_home as cache_home
    from hub.cache import default_cache as default_cache
    from hub.cache import sha256_file as sha256_file
    from hub.cards import Card as Card
    from hub.cards import card_of as card_of
    from hub.cards import cards_for as cards_for
    from hub.cards import get_card as get_card
    from hub.cards import load_cards as load_cards
    from hub.dtypes import BFLOAT16 as BFLOAT16
    from hub.dtypes import bfloat16_to_float32 as bfloat16_to_float32
    from hub.errors import CacheError as CacheError
    from hub.errors import CardError as CardError
    from hub.errors import CorruptCheckpoint as CorruptCheckpoint
    from hub.errors import DiskFull as DiskFull
    from hub.errors import DownloadError as DownloadError
    from hub.errors import HashMismatch as HashMismatch
    from hub.errors import HubError as HubError
    from hub.errors import KeyMismatch as KeyMismatch
    from hub.errors import LockError as LockError
    from hub.errors import NotWeights as NotWeights
    from hub.errors import OfflineError as OfflineError
    from hub.errors import SourceError as SourceError
    from hub.errors import TruncatedDownload as TruncatedDownload
    from hub.errors import UnknownCard as UnknownCard
    from hub.errors import UnsafePickle as UnsafePickle
    from hub.errors import UnsupportedFormat as UnsupportedFormat
    from hub.keymaps import match_keys as match_keys
    from hub.project_lock import Pin as Pin
    from hub.project_lock import ProjectLock as ProjectLock
    from hub.pth_writer import write_pth as write_pth
    from hub.resolve import Weights as Weights
    from hub.resolve import fetch as fetch
    from hub.resolve import weights as weights
    from hub.safetensors_file import SafetensorsFile as SafetensorsFile
    from hub.safetensors_file import read_safetensors as read_safetensors
    from hub.safetensors_writer import write_safetensors as write_safetensors
    from hub.sources import is_address as is_address
    from hub.state_dict import read_state_dict as read_state_dict

_HOME = {
    "hub.atomic": ["atomic_file", "fsync_folder"],
    "hub.cache": ["cache_home", "default_cache", "sha256_file"],
    "hub.cards": ["Card", "card_of", "cards_for", "get_card", "load_cards"],
    "hub.dtypes": ["BFLOAT16", "bfloat16_to_float32"],
    "hub.errors": [
        "CacheError",
        "CardError",
        "CorruptCheckpoint",
        "DiskFull",
        "DownloadError",
        "HashMismatch",
        "HubError",
        "KeyMismatch",
        "LockError",
        "NotWeights",
        "OfflineError",
        "SourceError",
        "TruncatedDownload",
        "UnknownCard",
        "UnsafePickle",
        "UnsupportedFormat",
    ],
    "hub.by_address": ["FetchedFile", "fetch_file"],
    "hub.project_lock": ["Pin", "ProjectLock"],
    "hub.sources": ["is_address"],
    "hub.pth_writer": ["write_pth"],
    "hub.resolve": ["Weights", "fetch", "weights"],
    "hub.keymaps": ["match_keys"],
    "hub.safetensors_file": ["SafetensorsFile", "read_safetensors"],
    "hub.safetensors_writer": ["write_safetensors"],
    "hub.state_dict": ["read_state_dict"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hub' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
