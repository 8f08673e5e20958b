"""Strings that the real CK Builder printed, of six device operations, compiled from November 2025's tree."""

from __future__ import annotations

from collections import Counter

import pytest

from ckprof.profiler import Profiler
from tests.cases import Cases
from tests.places import TESTS

STRINGS = (TESTS / "data" / "builder" / "2025-11.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def grammar():
    return Profiler().registry.strings


def test_all_device_operations_that_its_builder_describes_are_there():
    assert set(Counter(text.partition("<")[0] for text in STRINGS)) == {
        "DeviceGroupedConvBwdWeight_Xdl_CShuffle",
        "DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK",
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",
        "DeviceGroupedConvFwdMultipleD_Wmma_CShuffle",
        "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",
    }


def test_a_string_is_read_and_rendered_to_itself(grammar):
    """Read without being told the revision, and recognised as one of November 2025."""
    with Cases() as cases:
        for text in STRINGS:
            with cases.case(text):
                spelled = grammar.revisions_of(text)
                assert spelled[0].name == "2025-11"
                assert grammar.render(grammar.parse(text), spelled[0]) == text


def test_forward_xdl_is_spelled_as_in_no_other_revision(grammar):
    for text in STRINGS:
        if "Fwd" in text and "_Xdl_" in text:
            assert [each.name for each in grammar.revisions_of(text)] == ["2025-11"], text
