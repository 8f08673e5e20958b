"""A small library folder: two lists with their sources, as the library lays them out."""

_HEAD = """#include "ck/ck.hpp"
using F16 = half_t;
using BF16 = bhalf_t;
using F32 = float;
using Row = tensor_layout::gemm::RowMajor;
using Col = tensor_layout::gemm::ColumnMajor;
template <index_t... Is>
using S = Sequence<Is...>;
using PassThrough = element_wise::PassThrough;
static constexpr auto GemmDefault = GemmSpecialization::Default;
static constexpr auto GemmMNPadding = GemmSpecialization::MNPadding;
static constexpr auto Intrawave = BlockGemmPipelineScheduler::Intrawave;
"""


def product(tile, version, *, scheduler="BlkGemmPipeSched"):
    """Return an element of a list of products, of four waves of 32x32."""
    m, n, k = tile
    side = "S<8, 32, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 0"
    return (
        "DeviceGemm_Xdl_CShuffleV3< Row, Col, Row, F16, F16, F16, F32, F16, PassThrough, PassThrough, "
        f"PassThrough, GemmSpec, 256, {m}, {n}, {k}, 8, 8, 32, 32, {m // 64}, {n // 64}, {side}, {side}, "
        "1, 1, "
        f"S<1, 32, 1, 8>, 8, {scheduler}, BlockGemmPipelineVersion::{version}>"
    )


def write_tree(root):
    """Write a tree with headers and two lists of products; return its root."""
    (root / "include/ck").mkdir(parents=True)
    (root / "include/ck/ck.hpp").write_text("")
    gpu = root / "library/src/tensor_operation_instance/gpu"
    plain, batched = gpu / "gemm_universal/f16", gpu / "gemm_universal_batched/f16"
    plain.mkdir(parents=True)
    batched.mkdir(parents=True)
    elements = [product((128, 128, 64), "v3"), product((256, 128, 32), "v4"), product((64, 64, 64), "v1")]
    body = ",\n".join(elements[:2])
    (plain / "mk_nk.hpp").write_text(
        f"{_HEAD}template <BlockGemmPipelineScheduler BlkGemmPipeSched, GemmSpecialization GemmSpec>\n"
        f"using plain_instances = std::tuple<\n// {product((512, 512, 64), 'v5')},\n{body}\n>;\n"
        f"template <GemmSpecialization GemmSpec>\nusing unused_instances = std::tuple<\n{elements[2]}>;\n"
    )
    (plain / "one.cpp").write_text(
        '#include "mk_nk.hpp"\nvoid f() { add(instances, plain_instances<Intrawave, GemmDefault>{}); }\n'
    )
    (plain / "two.cpp").write_text(
        '#include "mk_nk.hpp"\nvoid f() { add(instances, plain_instances<Intrawave, GemmMNPadding>{}); }\n'
    )
    element = product((128, 128, 64), "v3").replace(
        "DeviceGemm_Xdl_CShuffleV3< Row, Col, Row, F16, F16, F16",
        "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3< Row, Col, DsLayout, Row, F16, F16, DsDataType, F16",
    )
    (batched / "mk_nk.hpp").write_text(
        f"{_HEAD}template <typename DsLayout, typename DsDataType, "
        "BlockGemmPipelineScheduler BlkGemmPipeSched, "
        f"GemmSpecialization GemmSpec>\nusing batched_instances = std::tuple<\n{element}>;\n"
    )
    (batched / "one.cpp").write_text(
        '#include "mk_nk.hpp"\n'
        "void f() { add(batched_instances<Tuple<>, Tuple<>, Intrawave, GemmDefault>{}); }\n"
    )
    return root
