"""Strings of Composable Kernel's own tests and lists come back in the revisions that print them.

So do those that the real CK Builder printed, of six device operations, compiled from November 2025's tree.
"""

from ckprof.model.strings.kind import find_revision
from tests.cases import Cases
from tests.places import TESTS

from .samples import GRAMMAR

KNOWN = (TESTS / "data" / "builder" / "known.txt").read_text().splitlines()[1:]
STRINGS = (TESTS / "data" / "builder" / "2025-11.txt").read_text().splitlines()


def test_known_strings_come_back():
    with Cases() as cases:
        for line in KNOWN:
            kind, revisions, text = line.split()
            with cases.case(text):
                parsed = GRAMMAR.parse(text)
                assert parsed.kind_id == kind
                for name in revisions.split(","):
                    assert GRAMMAR.parse(text, find_revision(name)) == parsed
                    assert GRAMMAR.render(parsed, find_revision(name)) == text


def test_all_device_operations_that_its_builder_describes_are_there():
    assert {text.partition("<")[0] for text in STRINGS} == {
        "DeviceGroupedConvBwdWeight_Xdl_CShuffle",
        "DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK",
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle",
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3",
        "DeviceGroupedConvFwdMultipleD_Wmma_CShuffle",
        "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor",
    }


def test_a_string_is_read_and_rendered_to_itself():
    """Read without being told the revision, and recognised as one of November 2025."""
    with Cases() as cases:
        for text in STRINGS:
            with cases.case(text):
                spelled = GRAMMAR.revisions_of(text)
                assert spelled[0].name == "2025-11"
                assert GRAMMAR.render(GRAMMAR.parse(text), spelled[0]) == text


def test_forward_xdl_is_spelled_as_in_no_other_revision():
    for text in STRINGS:
        if "Fwd" in text and "_Xdl_" in text:
            assert [each.name for each in GRAMMAR.revisions_of(text)] == ["2025-11"], text
