"""Lists of AITER: names are those that running the sources gives, and sources that do harm are refused."""

import pytest

from ckprof.errors import InputError
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree

#: the forms of 2026: generators, filters, parts that are appended, lists by architecture that are multiplied
SOURCE = '''
from copy import copy
from dataclasses import dataclass

TABLE = {"gelu": 0, "silu": 1}
NAMES = {v: k for k, v in TABLE.items()}


@dataclass
class Kernel:
    M: int
    N: int
    Flag: bool
    BlockPerCu: int
    Sched: str = "Default"
    Row: bool = False
    Act: int = 1

    @property
    def name(self) -> str:
        """A docstring."""
        parts = [
            "family_tile",
            "x".join(str(v) for v in [self.M, self.N]),
            ("x").join(str(int(x)) for x in [self.Flag, self.Row]),
            "_".join(element for element in [self.Sched.upper(), "", NAMES[self.Act]] if element != ""),
            f"{self.BlockPerCu}perCU" + ("" if self.Row else "_col"),
            ("x").join(str(self.M)),
        ]
        if self.Row:
            parts.append("row")
        return "_".join(parts)


BLOCK_PER_CU_MAX = 3


def expand_blockpercu(base_dict, max_bpc=BLOCK_PER_CU_MAX, field_name="BlockPerCu"):
    expanded, configs = dict(base_dict), {}
    for idx, k in base_dict.items():
        key = tuple(v for f, v in vars(k).items() if f != field_name)
        configs.setdefault(key, {})[getattr(k, field_name)] = idx
    next_id = max(base_dict.keys()) + 1
    for key, existing_bpcs in configs.items():
        template = base_dict[next(iter(existing_bpcs.values()))]
        for bpc in range(1, max_bpc + 1):
            if bpc not in existing_bpcs:
                inst = copy(template)
                inst.BlockPerCu = bpc
                expanded[next_id] = inst
                next_id += 1
    return expanded


old = {0: Kernel(16, 64, False, 1), 4: Kernel(16, 64, False, 2), 5: Kernel(32, 64, True, 2, Row=True)}
new = {**old, 7: Kernel(128, 16, True, 1, "Intrawave", Act=0)}
arch = get_gfx()
if arch.startswith("gfx95"):
    kernels_list = expand_blockpercu(new)
else:
    kernels_list = expand_blockpercu(old)
kernels_by_name = {v.name: v for v in kernels_list.values()}
'''
LATE = """
from dataclasses import dataclass


@dataclass
class Kernel:
    stage: int
    M: int
    Act: str = ""
    Routed: bool = False

    @property
    def name(self) -> str:
        parts = [f"moe_gemm{self.stage}", str(self.M), self.Act.upper(), "R" if self.Routed else ""]
        return "_".join(part for part in parts if part != "")


lists = {"a": {0: Kernel(1, 32), 1: Kernel(2, 64)}, "b": {0: Kernel(1, 128)}}


def chosen(tag, act, routed):
    for kernel in lists[tag].values():
        kernel.Act = act
        kernel.Routed = routed
    return lists[tag]
"""


def tree_of(folder, **sources):
    for name, source in sources.items():
        path = folder / "csrc" / name / f"{name}_common.py"
        path.parent.mkdir(parents=True)
        path.write_text(source)
    return folder


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_names_are_those_that_running_the_source_gives(tmp_path, arch):
    (found,), unreadable = read_tree(tree_of(tmp_path, family=SOURCE), arch)
    space = {"get_gfx": lambda: arch}
    exec(SOURCE, space)  # noqa: S102 - the text above
    assert found.names == {number: kernel.name for number, kernel in space["kernels_list"].items()}
    assert (unreadable, found.prefix, found.by_name) == ([], "family_tile", True)


def test_fields_that_are_filled_in_later_fit_anything(tmp_path):
    lists, _ = read_tree(tree_of(tmp_path, moe=LATE))
    space = {}
    exec(LATE, space)  # noqa: S102 - the text above
    made = [kernel.name for tag in "ab" for kernel in space["chosen"](tag, "silu", tag == "a").values()]
    first, second = lists
    assert [name for name in made if first.has(name) or second.has(name)] == made
    assert [first.has(name) for name in ("moe_gemm1_32", "moe_gemm1_33_SILU", "moe_gemm2_32")] == [
        True, False, False,
    ]  # fmt: skip
    assert not first.has("moe_gemm1_32_" + "x" * 10_000)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("open('x').read()", "cannot evaluate \"open('x')"),
        ("'x' * 1_000_000_000", "cannot evaluate"),
        ("(lambda f: f(f))(lambda f: f(f))", "cannot evaluate"),
        ("''.join(str(v) for v in [self.M, self])", "cannot evaluate"),
        ("self.name", "nested too deeply"),
        ("self.other", "has no 'other'"),
        ("f'{self.M:>1000000000}'", "cannot evaluate"),
        ("'_'.join([self.M, " + "'" + "x" * 300 + "', '" + "y" * 300 + "'])", "more than 400 characters"),
    ],
)
def test_sources_that_cannot_be_evaluated_are_named(tmp_path, value, part):
    source = (
        f"class K:\n    M: int\n    def name(self):\n        return {value}\nkernels_list = {{0: K(1)}}\n"
    )
    lists, (error,) = read_tree(tree_of(tmp_path, bad=source, family=SOURCE))
    assert part in str(error)
    assert "bad_common.py" in str(error)
    assert [one.prefix for one in lists] == ["family_tile"]


def test_a_tree_without_lists_is_an_error(tmp_path):
    with pytest.raises(InputError, match="has no lists of kernels"):
        read_tree(tmp_path)
