"""Type strings that are computed from instance strings are those of the shipped lists of type strings."""

import pytest

from ckprof.lists.list_files import find_list
from ckprof_plugins.consumers._old_ck.kernels import EXPLICIT, KernelIndex, kernels_of
from ckprof_plugins.consumers.records import KernelList

LISTS = [
    f"{folder}/{{}}/{layout}_{dtype}"
    for folder in ("forward", "backward_data")
    for layout in ("nhwgc", "ndhwgc")
    for dtype in ("fp16", "bf16", "fp32")
]


def lines(name):
    text = find_list(name).read_text().splitlines()
    return [line for line in text if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("name", LISTS)
def test_type_strings_follow_from_instance_strings(name):
    expected = lines(name.format("typestring"))
    computed = []
    for number, line in enumerate(lines(name.format("profiler")), 1):
        ((_, kernel),) = kernels_of(line, "list", number)
        assert kernel.complete
        computed.append(kernel.names[0])
    assert computed == expected


def test_lines_of_both_kinds_are_one_kernel():
    name = "forward/{}/nhwgc_fp16"
    both = [
        KernelList(path=f"{kind}/nhwgc_fp16.conf", lines=tuple(enumerate(lines(name.format(kind)), 1)))
        for kind in ("typestring", "profiler")
    ]
    index, alone = KernelIndex(both), KernelIndex(both[1:])
    family = ("fwd", 2, "fp16")
    for kernel in alone.all_of(family):
        found = index.find(family, kernel.names[0])
        assert [one.line for one in found] == [one.line for one in alone.find(family, kernel.names[0])]


def test_explicit_products_have_the_names_of_older_releases_too():
    line = next(one for one in lines("backward_weight/profiler/nhwgc_fp16") if one.startswith(EXPLICIT))
    ((family, kernel),) = kernels_of(line, "nhwgc_fp16.conf", 1)
    assert family == ("bwd_weight", 2, "fp16")
    assert kernel.names[0] == line
    assert "K1: " not in kernel.names[1]
    assert "xSeq" not in kernel.names[1]


@pytest.mark.parametrize(
    "text", ["", "nothing", "DeviceGroupedConvFwd<", "DeviceGroupedConvFwdMore<1,2>", "A<B>"]
)
def test_other_lines_are_no_kernels(text):
    assert kernels_of(text, "nhwgc_fp16.conf", 1) == []
