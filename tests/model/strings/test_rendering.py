"""Rendering: each revision prints its fields and its spellings."""

import pytest

from ckprof.model.strings.kind import find_revision
from ckprof.model.strings.rendering import StringError, counts, render
from ckprof_plugins.directions._convolution import string_kinds
from tests.cases import Cases
from tests.model.strings.samples import GRAMMAR, weight
from tests.places import TESTS


def test_flags_are_spelled_as_the_revision_spells_them(sample):
    parsed = GRAMMAR.parse(f"{sample['forward_v3'].removesuffix(',8>')},1>")
    old, new = (GRAMMAR.render(parsed, find_revision(name)) for name in ("2025-11", "2026-06"))
    assert old.count(",true") == 1
    assert old.endswith(",true>")
    assert new.count(",true") == 3
    assert new.endswith(",true,1>")


@pytest.mark.parametrize(
    ("kind", "revision", "expected"),
    [
        ("tile_forward", "2025-11", (30,)),
        ("tile_forward", "2026-06", (31,)),
        ("tile_backward_data", "2026-06", (31,)),
        ("tile_backward_weight", "2026-01", (31,)),
        ("tile_backward_weight", "2026-06", (32, 34)),
        ("tile_depthwise", "2026-06", (20,)),
        ("forward", "2026-06", (49,)),
        ("forward_v3", "2026-01", (49,)),
        ("forward_v3", "2026-06", (50,)),
        ("forward_large_tensor", "2026-06", (48,)),
        ("forward_wmma", "2026-06", (46,)),
        ("forward_dl", "2026-06", (42,)),
        ("backward_weight", "2026-06", (43,)),
        ("backward_weight_v3", "2026-06", (45,)),
        ("backward_weight_v3", "2026-09", (46,)),
        ("backward_weight_two_stage", "2026-06", (46,)),
        ("backward_weight_multiple_d_xdl", "2026-06", (43,)),
        ("backward_weight_wmma", "2026-06", (42,)),
        ("backward_weight_wmma_v3", "2026-06", (45,)),
        ("backward_data", "2025-11", (49,)),
        ("backward_data", "2026-06", (51,)),
        ("backward_data_wmma_v3", "2026-06", (50,)),
    ],
)
def test_the_number_of_fields_follows_the_revision(kind, revision, expected):
    assert counts(GRAMMAR.kind(kind), find_revision(revision)) == expected


def test_a_field_that_a_revision_lacks_has_the_value_that_its_absence_means():
    old = render(string_kinds.BACKWARD_WEIGHT, weight(streamk_enabled=False), find_revision("2026-01"))
    new = render(string_kinds.BACKWARD_WEIGHT, weight(streamk_enabled=False))
    assert new == f"{old[:-1]},0>"
    assert GRAMMAR.parse(old) == GRAMMAR.parse(new)
    with pytest.raises(StringError, match="no field streamk_enabled in revision 2026-01: it cannot say 1"):
        render(
            string_kinds.BACKWARD_WEIGHT,
            weight(streamk_enabled=True, streamk_reduction_strategy=2, streamk_persistent=False),
            find_revision("2026-01"),
        )


def test_what_cannot_be_rendered():
    with pytest.raises(StringError, match="nothing gives a value for tile_m"):
        render(string_kinds.FORWARD, {name: v for name, v in weight().items() if name != "tile_m"})
    with pytest.raises(StringError, match="tile_m '-1' not writable, expected an integer"):
        render(string_kinds.FORWARD, weight(tile_m=-1))
    with pytest.raises(StringError, match="split_image 'yes' not writable"):
        render(string_kinds.FORWARD, weight(split_image="yes"))


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
