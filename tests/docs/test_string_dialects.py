"""The table of both strings of one instance in docs/parity.md is what November's library printed."""

import pytest

from ckprof_converters.families import FAMILIES
from tests.docs.blocks import ROOT
from tests.docs.string_dialects import TITLES, read_dialects, table

PAGE = ROOT / "docs" / "parity.md"
BEGIN = "<!-- made by tests/docs/string_dialects.py -->\n"


def test_the_table_is_up_to_date(request):
    before, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, after = rest.partition("\n\n")
    if request.config.getoption("--refresh-golden"):
        PAGE.write_text(f"{before}{BEGIN}{table()}\n{after}")
    else:
        assert f"{shown}\n" == table()


def test_every_class_has_a_column():
    dialects = read_dialects()
    assert list(dialects) == list(TITLES)
    assert all(len(one.pairs) >= 3 for one in dialects.values())


def test_fields_without_a_name_in_common_are_found_by_their_values():
    v3 = read_dialects()["fwd_multiple_abd_xdl_cshuffle_v3"]
    names = {name: v3.place_of(index) for index, (_, name) in enumerate(v3.type_fields)}
    assert v3.instance_fields[names["BlkGemmPipelineVer"]] == "PipelineVersion"
    assert v3.instance_fields[names["BlkGemmPipeSched"]] == "PipelineScheduler"
    assert v3.instance_fields[names["MPerBlock"]] == "MPerBlock"
    assert None not in names.values()


@pytest.mark.parametrize(
    ("name", "full", "brief"),
    [
        ("fwd_multiple_abd_xdl_cshuffle", "forward", "short_forward"),
        ("fwd_multiple_d_xdl_large_tensor_cshuffle", "forward_large_tensor", None),
        ("bwd_weight_xdl_cshuffle", "backward_weight", "short_backward_weight"),
    ],
)
def test_the_grammars_count_the_same_fields(name, full, brief):
    printed = read_dialects()[name]
    families = {family.id: family for family in FAMILIES}
    assert len(families[full].fields) == len(printed.instance_fields)
    if brief:
        labels = [field.label or "" for field in families[brief].fields]
        assert labels == [label for label, _ in printed.type_fields]
