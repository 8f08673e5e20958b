"""Tables of AITER: sound rows pass, every seeded fault is named; pandas agrees on what it makes of them."""

import json
import random
from pathlib import Path

import pytest

from ckprof.errors import ExitCode, InputError
from ckprof_plugins.consumers.aiter.consumer import Aiter
from ckprof_plugins.consumers.aiter.kernel_lists import read_tree
from ckprof_plugins.consumers.records import AuditRequest, Reason

SOURCE = """
from dataclasses import dataclass


@dataclass
class Kernel:
    BLOCK: int
    M: int
    N: int
    K: int
    CLUSTER: list[int]
    SCHED: str
    VERSION: int

    @property
    def name(self) -> str:
        return ("_").join(
            [
                "a8w8_rowwise",
                ("x").join(map(lambda x: str(x), [self.BLOCK, self.M, self.N, self.K])),
                ("x").join(map(lambda x: str(x), self.CLUSTER)),
                self.SCHED.lower(),
                f"v{self.VERSION}",
            ]
        )


kernels_list = {
    0: Kernel(256, 128, 128, 128, [8, 32, 1], "Intrawave", 3),
    1: Kernel(256, 64, 128, 64, [16, 16, 1], "Interwave", 1),
    2: Kernel(BLOCK=64, M=16, N=16, K=64, CLUSTER=[8, 8, 1], SCHED="Intrawave", VERSION=1),
}
default_kernels_dict = {(-1): Kernel(1, 1, 1, 1, [1], "x", 1)}
"""
NAMES = (
    "a8w8_rowwise_256x128x128x128_8x32x1_intrawave_v3",
    "a8w8_rowwise_256x64x128x64_16x16x1_interwave_v1",
    "a8w8_rowwise_64x16x16x64_8x8x1_intrawave_v1",
)
HEADER = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio"


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree" / "csrc" / "ck_gemm_a8w8"
    folder.mkdir(parents=True)
    (folder / "gemm_a8w8_common.py").write_text(SOURCE)
    return tmp_path / "tree"


def row(m=1, **changes):
    cells = {
        "cu_num": 304,
        "M": m,
        "N": 1280,
        "K": 8192,
        "kernelId": 1,
        "splitK": 0,
        "us": 11.5,
        "kernelName": NAMES[1],
        "tflops": 3.0,
        "bw": 30.5,
        "errRatio": 0.0,
        **changes,
    }
    return ",".join(map(str, cells.values()))


def audited(tmp_path, rows, tree=None, header=HEADER, **options):
    path = tmp_path / "tuned.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return Aiter().audit(AuditRequest(path=path, tree=tree, **options))


def test_names_are_those_that_running_the_source_gives(tree):
    space = {}
    exec(SOURCE, space)  # noqa: S102 - the text above
    (found,), _ = read_tree(tree)
    assert found.names == {number: kernel.name for number, kernel in space["kernels_list"].items()}
    assert (found.prefix, tuple(found.names.values())) == ("a8w8_rowwise", NAMES)


FAULTS = {
    "another number": (Reason.ID_MISMATCH, lambda m: row(m, kernelId=0)),
    "a number that is gone": (Reason.UNKNOWN_KERNEL, lambda m: row(m, kernelId=7)),
    "a name that is gone": (Reason.UNKNOWN_KERNEL, lambda m: row(m, kernelName=NAMES[1].replace("64", "96"))),
    "another family": (Reason.UNKNOWN_KERNEL, lambda m: row(m, kernelName="bf16_" + NAMES[1])),
    "no number": (Reason.MALFORMED_VALUE, lambda m: row(m, kernelId="one")),
    "a few steps": (Reason.UNSUPPORTED, lambda m: row(m, K=256, kernelId=0, kernelName=NAMES[0])),
    "many splits": (Reason.WRONG_SPLIT, lambda m: row(m, K=256, splitK=3)),
    "negative splits": (Reason.WRONG_SPLIT, lambda m: row(m, splitK=-1)),
    "endless": (Reason.WRONG_TIME, lambda m: row(m, us="inf")),
    "no time at all": (Reason.DOUBTFUL_TIME, lambda m: row(m, us="")),
    "a time that stands for none": (Reason.DOUBTFUL_TIME, lambda m: row(m, us=0)),
    "before it began": (Reason.WRONG_TIME, lambda m: row(m, us=-1)),
    "no time": (Reason.MALFORMED_VALUE, lambda m: row(m, us="fast")),
    "wrong elements": (Reason.WRONG_RESULT, lambda m: row(m, errRatio=0.2)),
    "elements that were off": (Reason.LOSES_DIGITS, lambda m: row(m, errRatio=0.01)),
    "a cell more": (Reason.MALFORMED_ROW, lambda m: row(m) + ",1"),
    "cells without a kernel": (Reason.MALFORMED_VALUE, lambda m: ",".join(row(m).split(",")[:7])),
    "no length": (Reason.MALFORMED_KEY, lambda m: row(m, K="")),
    "no size": (Reason.NEVER_HIT, lambda m: row(m, N=0)),
}


@pytest.mark.parametrize("seed", range(3))
def test_every_seeded_fault_is_named_and_nothing_else(tmp_path, tree, seed):
    draw = random.Random(seed)
    faults = draw.sample([*FAULTS], len(FAULTS))
    rows, expected = [], {}
    for number, name in enumerate(faults):
        reason, make = FAULTS[name]
        rows += [row(2 * number + 1), make(2 * number + 2)]
        expected[len(rows) + 1] = reason
    audit = audited(tmp_path, rows, tree)
    assert {finding.line: finding.reason for finding in audit.findings} == expected
    notes = [finding for finding in audit.findings if not finding.removable]
    audit.path.write_bytes(Aiter().cleaned(audit))
    again = Aiter().audit(AuditRequest(path=audit.path, tree=tree))
    assert again.entries == len(FAULTS) + len(notes)
    assert [finding.reason for finding in again.findings] == [finding.reason for finding in notes]


def looked_up(path, key, columns):
    """What the owner's loader does: drop equal rows, make a unique index, ask it."""
    import pandas

    table = pandas.read_csv(path).drop_duplicates()
    return table.set_index(list(columns)).to_dict("index").get(key)


def test_a_text_among_numbers_poisons_its_column_for_all_rows(tmp_path):
    audit = audited(tmp_path, [row(1), row("many")])
    assert [(f.reason, f.line) for f in audit.findings] == [(Reason.MALFORMED_KEY, 3), (Reason.NEVER_HIT, 0)]
    assert looked_up(audit.path, (304, 1, 1280, 8192), ("cu_num", "M", "N", "K")) is None
    audit.path.write_bytes(Aiter().cleaned(audit))
    assert looked_up(audit.path, (304, 1, 1280, 8192), ("cu_num", "M", "N", "K"))["kernelId"] == 1


def test_equal_rows_are_harmless_and_different_ones_end_the_loader(tmp_path):
    audit = audited(tmp_path, [row(1), row(1)])
    assert [f.reason for f in audit.findings] == [Reason.DUPLICATE]
    assert looked_up(audit.path, (304, 1, 1280, 8192), ("cu_num", "M", "N", "K"))["us"] == 11.5
    audit = audited(tmp_path, [row(1), row(1, us=9.0)])
    assert [f.reason for f in audit.findings] == [Reason.CONFLICT]
    with pytest.raises(ValueError, match="unique"):
        looked_up(audit.path, (304, 1, 1280, 8192), ("cu_num", "M", "N", "K"))


def test_both_generations_and_the_device(tmp_path, tree):
    newer = "gfx," + HEADER.replace("K,kernelId", "K,libtype,kernelId")

    def with_gfx(gfx, libtype="ck"):
        cells = row().split(",")
        return ",".join([gfx, *cells[:4], libtype, *cells[4:]])

    audit = audited(tmp_path, [with_gfx("gfx942"), with_gfx("gfx950")], tree, newer, arch="gfx942")
    assert [(f.line, f.reason) for f in audit.findings] == [(3, Reason.WRONG_DEVICE)]
    audit = audited(tmp_path, [with_gfx("gfx942", "asm")], tree, newer)
    assert audit.findings == []
    assert audit.judged == {"keys and times in order; kernels of asm, not judged": 1}
    audit = audited(tmp_path, [row()], tree, compute_units=80)
    assert [f.reason for f in audit.findings] == [Reason.WRONG_DEVICE]


@pytest.mark.parametrize(
    ("units", "spelled", "hit"),
    [
        (304, "torch.float8_e4m3fnuz", True),
        (256, "torch.float8_e4m3fnuz", False),
        (304, "torch.float8_e4m3fn", False),
        (304, "torch.int8", True),
        (304, "float8_e4m3fnuz", False),
    ],
)
def test_types_as_keys_spell_them(tmp_path, units, spelled, hit):
    header = HEADER.replace("K,kernelId", "K,q_dtype_w,kernelId")
    cells = row(cu_num=units).split(",")
    audit = audited(tmp_path, [",".join([*cells[:4], spelled, *cells[4:]])], header=header)
    assert [f.reason for f in audit.findings] == ([] if hit else [Reason.NEVER_HIT])


#: columns of tables as they ship, and rows whose keys differ in one column of the reader's key
KEYED = {
    "x_a8w8_tuned_gemm.csv": (
        "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName",
        "gfx942,304,16,1280,8192,torch.int8,5,0,19.1,a8w8_rowwise_256x16x64x512",
        "gfx942,304,16,1280,8192,torch.float8_e4m3fnuz,5,0,15.1,a8w8_rowwise_256x16x64x512",
    ),
    "x_bf16_tuned_gemm.csv": (
        "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio",
        "gfx950,256,48,3072,1536,False,torch.bfloat16,torch.bfloat16,False,False,asm,5,1,9.1,k1,0.0",
        "gfx1250,256,48,3072,1536,False,torch.bfloat16,torch.bfloat16,False,False,triton,0,0,12.0,auto,0.0",
        "gfx950,256,48,3072,1536,False,torch.bfloat16,torch.bfloat16,False,True,asm,6,1,8.1,k2,0.0",
    ),
    "batched_gemm_a8w8_blockscale_mxscale_tuned.csv": (
        "gfx,b,m,n,k,libtype,kernelId,splitK,us,kernelName",
        "gfx950,8,16,64,128,opus,3,1,19.1,opus_bmm",
        "gfx950,4,16,64,128,opus,3,1,19.1,opus_bmm",
    ),
    "tuned_fmoe.csv": (
        "cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
        "doweight_stage1,us1,kernelName1,us2,kernelName2,us,_tag",
        # the last cell is missing, and tables of pandas have none there
        "256,16,7168,512,384,6,ActivationType.Silu,torch.bfloat16,torch.int8,torch.int8,Q,1,0,2,k1,2,Null,4",
        "304,16,7168,512,384,6,ActivationType.Silu,torch.bfloat16,torch.int8,torch.int8,Q,1,0,2,k1,2,,4,",
        "256,16,7168,512,384,6,ActivationType.Silu,torch.bfloat16,torch.int8,torch.int8,Q,1,0,2,k1,2,k2,4,"
        "flydsl_fallback",
    ),
    "tuned_fhmoe.csv": (
        "gfx,cu_num,token,model_dim,inter_dim,expert,topk,shared_expert_id,act_type,dtype,q_dtype_a,q_dtype_w,"
        "q_type,use_g1u1,doweight_stage1,hidden_pad,intermediate_pad,gate_mode,kernelName1,kernelName2",
        "gfx950,256,16,7168,512,385,7,384,A.Silu,t,a,w,Q,1,0,0,0,separated,k1,k2",
        "gfx950,256,16,7168,512,385,7,384,A.Silu,t,a,w,Q,1,0,0,0,interleave,k1,k2",
    ),
    # of rows of one key the fastest counts
    "tuned_grouped_fmoe.csv": (
        "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,tile_m,"
        "kernelName1,kernelName2,us",
        "gfx1250,256,512,7168,3072,96,6,A.Silu,t,a,w,Q,64,k1,k2,517.9",
        "gfx1250,256,512,7168,3072,96,6,A.Silu,t,a,w,Q,32,k1,k2,468.1",
    ),
    # its module never passes splits to kernels
    "a8w8_blockscale_bpreshuffle_tuned_gemm.csv": (
        "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName",
        "gfx950,256,928,4096,512,ck,16,9,8.6,a8w8_blockscale_bpreshuffle_1x128x128_256x64x128x256_v1",
        "gfx950,256,9,4096,512,cktile,16,9,8.6,a8w8_blockscale_cktile_16x128x256_1x4x1",
    ),
    # devices by architecture and units together; a partition has a part of the units
    "a8w8_blockscale_tuned_gemm.csv": (
        "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName",
        *(
            f"{device},928,4096,512,ck,16,0,8.6,a8w8_blockscale_1x128x128_256x64x128x256_v1"
            for device in ("gfx950,128", "gfx1250,256", "gfx1250,96", "gfx942,38", "gfx999,256")
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYED)
def test_keys_are_those_of_the_reader_of_each_table(tmp_path, name):
    header, *rows = KEYED[name]
    (tmp_path / name).write_text("\n".join([header, *rows]) + "\n")
    audit = Aiter().audit(AuditRequest(path=tmp_path / name))
    assert (audit.findings, audit.entries, audit.judged.total()) == ([], len(rows), len(rows))
    # another row of the first one's key is found in all of them
    again = rows[0].replace("517.9", "517.8") if "grouped" in name else f"{rows[0]}9"
    (tmp_path / name).write_text("\n".join([header, *rows, again]) + "\n")
    audit = Aiter().audit(AuditRequest(path=tmp_path / name))
    expected = {"tuned_fmoe.csv": [Reason.DUPLICATE], "tuned_grouped_fmoe.csv": []}
    assert [finding.reason for finding in audit.findings] == expected.get(name, [Reason.CONFLICT])


def test_readers_of_experts_fill_in_one_architecture(tmp_path):
    header, row_, *_ = KEYED["tuned_fmoe.csv"]
    (tmp_path / "tuned_fmoe.csv").write_text(f"{header}\n{row_}\n")
    for arch, reasons in (("gfx950", []), ("gfx1250", [Reason.WRONG_DEVICE])):
        audit = Aiter().audit(AuditRequest(path=tmp_path / "tuned_fmoe.csv", arch=arch))
        assert [finding.reason for finding in audit.findings] == reasons
    assert audited(tmp_path, [row(cu_num=256)], arch="gfx1250").findings == []


def test_units_of_other_devices_alone_are_wrong(tmp_path):
    header = "gfx," + HEADER
    audit = audited(tmp_path, [f"gfx942,{row(cu_num=256)}", f"gfx950,{row(cu_num=304)}"], header=header)
    assert [finding.reason for finding in audit.findings] == [Reason.WRONG_DEVICE] * 2


def test_one_reader_knows_two_libraries_alone(tmp_path):
    header, first, *_ = KEYED["a8w8_blockscale_tuned_gemm.csv"]
    for name, reasons in (("a8w8_blockscale", [Reason.MALFORMED_VALUE]), ("a8w8_blockscale_bpreshuffle", [])):
        path = tmp_path / f"{name}_tuned_gemm.csv"
        path.write_text(f"{header}\n{first.replace(',ck,', ',triton,')}\n")
        assert [one.reason for one in Aiter().audit(AuditRequest(path=path)).findings] == reasons


def test_tables_that_are_merged_must_not_share_keys(ckprof, tmp_path):
    """Rows of one key in two tables of a name end the start; the fastest stays in the clean files."""
    base, models = tmp_path / "configs", tmp_path / "configs" / "model_configs"
    models.mkdir(parents=True)
    files = {
        base / "a8w8_tuned_gemm.csv": [row(1, us=9), row(2, us=9), row(2, us=9)],
        models / "mine_a8w8_tuned_gemm.csv": [row(1, us=8), row(3)],
        models / "mine_a8w8_untuned_gemm.csv": [row(1)],
        models / "mine_a8w8_blockscale_tuned_gemm.csv": [row(1), row(2)],
    }
    for path, rows in files.items():
        path.write_text("\n".join([HEADER, *rows]) + "\n")
    done = ckprof("audit", base, "--fix", "--format", "json")
    report = json.loads(done.out)["files"]
    found = {
        (Path(file["path"]).name, one["line"], one["reason"]) for file in report for one in file["findings"]
    }
    assert found == {("a8w8_tuned_gemm.csv", line, "conflict") for line in (2, 4)}
    clean = base / "a8w8_tuned_gemm.csv.clean"
    clean.rename(base / "a8w8_tuned_gemm.csv")
    assert ckprof("audit", base).code == ExitCode.OK
    import pandas

    merged = pandas.concat(
        [pandas.read_csv(path) for path in [*base.glob("*.csv"), *models.glob("mine_a8w8_t*")]]
    )
    assert sorted(merged["M"]) == [1, 2, 3]
    assert merged[merged["M"] == 1]["us"].item() == 8


def test_a_list_that_cannot_be_read_ends_nothing_else(tmp_path, tree):
    folder = tree / "csrc" / "ck_gemm_new"
    folder.mkdir()
    (folder / "gemm_new_common.py").write_text("kernels_list = open('x')\n")
    (folder / "gemm_odd_common.py").write_text("kernels_list = {")
    new = row(2, kernelName="a8w8_new_64x16x16x64_v1")
    audit = audited(tmp_path, [row(1), new, row(3, kernelId=0)], tree)
    assert [(f.line, f.reason) for f in audit.findings] == [
        (4, Reason.ID_MISMATCH),
        (0, Reason.UNREADABLE_LIST),
        (0, Reason.UNREADABLE_LIST),
    ]
    assert audit.judged["kernels that no list has which could be read: not judged"] == 1


def test_a_tree_without_lists_is_an_error(tmp_path):
    with pytest.raises(InputError, match="has no lists of kernels"):
        audited(tmp_path, [row()], tmp_path)


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.thorough)])
def test_no_mutation_is_an_exception(tmp_path, tree, count):
    draw = random.Random(7)
    path = tmp_path / "tuned.csv"
    whole = "\n".join([HEADER, *(row(m) for m in range(1, 6))]).encode() + b"\n"
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(HEADER) + 1, len(data))
            data[place : place + draw.randint(0, 4)] = draw.choice(
                [b"\n", b",", b'"', b"\0", b"9" * 30, b"-", b"\r", b"\xff\xfe", b"1e999", b"nan"]
            )
        path.write_bytes(data)
        audit = Aiter().audit(AuditRequest(path=path, tree=tree))
        assert len(Aiter().cleaned(audit)) <= len(data) + 1
