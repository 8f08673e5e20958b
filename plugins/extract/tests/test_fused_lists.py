"""Lists of factories with an element-wise operation, read from a library: how many convert without loss."""

import os
from pathlib import Path

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_plugins.extract.extractors import LibraryExtractor
from ckprof_plugins.extract.lists import ExtractRequest
from tests.converters.test_fused_lists import ALL, DIRECTIONS, factories_without_loss


@pytest.fixture(scope="module")
def converter():
    return ConfConverter(FAMILIES)


def extracted(converter, source, directions, **options):
    """Return the factories of a library -> the conversions of their lists; and the text of each list."""
    request = ExtractRequest(
        source=Path(source), directions=directions, sets=("profiler",), options={"fused": "all", **options}
    )
    lists, texts = {}, {}
    for item in LibraryExtractor().extract(request).lists:
        for file in item.files:
            texts[file.place] = "".join(f"{line}\n" for line in file.texts)
            data = texts[file.place].encode()
            asked = ConversionRequest(path=Path(file.place), data=data, direction=item.direction)
            factory = Path(file.place).parent.parent.as_posix()
            lists.setdefault(factory, []).append(converter.convert(asked))
    return lists, texts


@pytest.mark.thorough
def test_how_many_factories_of_a_tree_convert_without_loss(converter):
    """Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``: its lists ship."""
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    lists, texts = extracted(converter, root, ("fwd",), **{"no-archive": True})
    for place, text in texts.items():
        if not place.startswith("forward/profiler"):
            assert (conf_root() / place).read_text() == text, place
    kept, known = factories_without_loss(lists)
    assert known == kept
    # with that of convolutions alone
    assert len(kept) == 13


@pytest.mark.ck_package
@pytest.mark.timeout(3000)
def test_how_many_factories_of_the_package_convert_without_loss(converter):
    """Needs the package of release 7.2.4 in ``$CKPROF_CK_PACKAGE``: the lists that ship are its, too."""
    package = os.environ.get("CKPROF_CK_PACKAGE")
    if not package:
        pytest.fail(
            "CKPROF_CK_PACKAGE must name the package; plugins/extract/docs/extract.md says how to fetch it"
        )
    lists, texts = extracted(converter, package, tuple(DIRECTIONS.values()))
    for place, text in texts.items():
        if Path(place).parts[-2:-1] == ("profiler",) and Path(place).parts[1] != "profiler":
            shipped = (conf_root() / place).read_text()
            assert sorted(shipped.splitlines()) == sorted(text.splitlines()), place
    kept, known = factories_without_loss(lists)
    assert known == kept
    # those of convolutions alone, and those with an operation
    assert len(kept) == len(DIRECTIONS) + len(ALL)
