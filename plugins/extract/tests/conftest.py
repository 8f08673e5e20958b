"""What the tests of extraction share."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ckprof.errors import InputError
from ckprof_converters.library_lists import ListKey
from ckprof_plugins.extract.extraction import DerivedList, ListDeriver
from ckprof_plugins.extract.opening import locate, open_library
from plugins.extract.tests import binaries
from plugins.extract.tests.tree import MAIN, MERGED, Tree, line

KEY = ListKey("fwd", "nhwgc", "fp16")

#: what the small library has by its recipes
MAIN_LINES = [
    line(block, tile, spec, vector=vector)
    for spec in ("Default", "Filter1x1Pad0", "Filter1x1Stride1Pad0", "OddC")
    for block, tile, vector in ((256, 128, 8), (128, 64, 4))
]
MERGED_LINES = [line(64, 64, spec, merged=8) for spec in ("Default", "Filter3x3")]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small library that can be changed before it is written."""
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    return Tree(tmp_path / "prefix")


def members(main, merged):
    """Return the objects of an archive that adds these lines; one name is long, one short."""
    return {
        "device_grouped_conv2d_fwd_xdl_nhwgc_gkyxc_nhwgk_f16_instance.cpp.o": binaries.elf(
            (binaries.function(MAIN),), tables=tuple(binaries.table(item) for item in main)
        ),
        "merged.o": binaries.elf(
            (binaries.function(MERGED),), tables=tuple(binaries.table(item) for item in merged)
        ),
    }


def write_archive(tree, objects):
    """Put an archive beside the headers; return the prefix."""
    path = tree.root / "lib" / "x86_64-linux-gnu" / "libdevice_conv_operations.a"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(binaries.archive(objects, index=b"\0\0\0\1"))
    return tree.root


@dataclass
class Extraction:
    """What became of lists."""

    lists: list[DerivedList] = field(default_factory=list)
    absent: list[ListKey] = field(default_factory=list)
    failures: dict[ListKey, InputError] = field(default_factory=dict)


def extract(library, keys, **options):
    """Derive lists, each with its own outcome."""
    result = Extraction()
    deriver = ListDeriver(library, **options)
    for key in keys:
        try:
            found = deriver.derive(key)
        except InputError as exc:
            result.failures[key] = exc
            continue
        if found is None:
            result.absent.append(key)
        else:
            result.lists.append(found)
    return result


def run(path, *, with_archive=True, **options):
    """Extract the one list of the small library."""
    library, keep = open_library(locate(path, {}), with_archive=with_archive)
    result = extract(library, [KEY], **options)
    keep()
    return result
