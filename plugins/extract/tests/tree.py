"""A small library in the shape of the real one, written for the tests."""

INSTANCES = "ck/library/tensor_operation_instance/gpu"
IMPL = "ck/tensor_operation/gpu/device/impl"

#: parameters of the forward class: (kind, name) or (kind, name, default)
PARAMETERS = """
index_t NDimSpatial|typename ALayout|typename BLayout|typename DsLayout|typename ELayout|typename ADataType
typename BDataType|typename AccDataType|typename CShuffleDataType|typename DsDataType|typename EDataType
typename AElementwiseOperation|typename BElementwiseOperation|typename CDEElementwiseOperation
ConvolutionForwardSpecialization ConvForwardSpecialization|GemmSpecialization GemmSpec
index_t NumGemmKPrefetchStage|index_t BlockSize|index_t MPerBlock|index_t NPerBlock|index_t KPerBlock
index_t AK1|index_t BK1|index_t MPerXDL|index_t NPerXDL|index_t MXdlPerWave|index_t NXdlPerWave
typename ABlockTransferThreadClusterLengths_AK0_M_AK1|typename ABlockTransferThreadClusterArrangeOrder
typename ABlockTransferSrcAccessOrder|index_t ABlockTransferSrcVectorDim
index_t ABlockTransferSrcScalarPerVector|index_t ABlockTransferDstScalarPerVector_AK1|index_t ABlockLdsExtraM
typename BBlockTransferThreadClusterLengths_BK0_N_BK1|typename BBlockTransferThreadClusterArrangeOrder
typename BBlockTransferSrcAccessOrder|index_t BBlockTransferSrcVectorDim
index_t BBlockTransferSrcScalarPerVector|index_t BBlockTransferDstScalarPerVector_BK1|index_t BBlockLdsExtraN
index_t CShuffleMXdlPerWavePerShuffle|index_t CShuffleNXdlPerWavePerShuffle
typename CDEBlockTransferClusterLengths_MBlock_MPerBlock_NBlock_NPerBlock
index_t CDEBlockTransferScalarPerVector_NPerBlock
typename AComputeDataType = decltype(UnpackDataType<is_detected<is_tuple, ADataType>::value>())
typename BComputeDataType = AComputeDataType|LoopScheduler LoopSched = make_default_loop_scheduler()
index_t NumGroupsToMerge = 1
"""

CONFIG = """
#ifndef CK_CONFIG_H_IN
#define CK_CONFIG_H_IN
#ifndef CK_ENABLE_FP16
#define CK_ENABLE_FP16 ON
#endif
#define CK_ENABLE_FP32 ON
/* #undef CK_ENABLE_BF16 */
#define CK_USE_XDL ON
#define CK_USE_WMMA ON
#endif
"""

ENUMERATIONS = {
    "convolution_forward_specialization.hpp": "enum struct ConvolutionForwardSpecialization\n"
    "{ Default, Filter1x1Pad0, Filter1x1Stride1Pad0, // narrow\n OddC, Filter3x3, };",
    "gemm_specialization.hpp": "enum struct GemmSpecialization { Default, MPadding, NPadding, KPadding,"
    " MNPadding, MKPadding, NKPadding, MNKPadding, OPadding };",
}

PREAMBLE = """
namespace ck { namespace instance {
using F16 = ck::half_t;
using F32 = float;
template <ck::index_t... Is>
using S = ck::Sequence<Is...>;
using namespace ck::tensor_layout::convolution;
using Empty_Tuple = ck::Tuple<>;
using PassThrough = ck::tensor_operation::element_wise::PassThrough;
static constexpr auto GemmMNKPadding = GemmSpecialization::MNKPadding;
"""

ALIAS_HEAD = """
template <index_t NDimSpatial, typename ALayout, typename BLayout, typename DsLayout, typename ELayout,
          ConvolutionForwardSpecialization ConvSpec,
          typename DsDataTypes = Tuple<>, typename OutElementOp = PassThrough>
using {name} = std::tuple<
"""

FACTORY = """
#include "x.inc"
template <ck::index_t NumDimSpatial, typename InLayout, typename WeiLayout, typename OutLayout,
          typename InDataType, typename WeiDataType, typename OutDataType,
          typename AComputeType, typename BComputeType>
struct DeviceOperationInstanceFactory
{{
    static auto GetInstances()
    {{
        std::vector<std::unique_ptr<DeviceOp>> op_ptrs;
#ifdef CK_USE_XDL
        if constexpr(NumDimSpatial == 2 && is_same_v<InLayout, NHWGC> &&
                     is_same_v<WeiLayout, GKYXC> && is_same_v<OutLayout, NHWGK>)
        {{
#ifdef CK_ENABLE_FP16
            if constexpr({condition})
            {{
                static_assert(is_same_v<AComputeType, BComputeType>, "must be equal");
                {calls}
            }}
            else if constexpr(is_same_v<InDataType, int8_t>)
            {{
                add_device_grouped_conv2d_fwd_xdl_nhwgc_gkyxc_nhwgk_int8_instances(op_ptrs);
            }}
#endif
        }}
#endif
#ifdef CK_USE_WMMA
        if constexpr(NumDimSpatial == 2 && is_same_v<InDataType, half_t>)
        {{
            add_device_grouped_conv2d_fwd_wmma_nhwgc_gkyxc_nhwgk_f16_instances(op_ptrs);
        }}
#endif
        return op_ptrs;
    }}
}};
"""

MAIN = "add_device_grouped_conv2d_fwd_xdl_nhwgc_gkyxc_nhwgk_f16_instances"
MERGED = "add_device_grouped_conv2d_fwd_xdl_merged_groups_nhwgc_gkyxc_nhwgk_f16_instances"
HALF = (
    "is_same_v<InDataType, half_t> && is_same_v<WeiDataType, F16> && is_same_v<OutDataType, ck::half_t> && "
    "is_same_v<AComputeType, half_t> && (is_same_v<BComputeType, half_t> || is_same_v<BComputeType, float>)"
)


def parameters():
    """Return the declarations of the class's parameters."""
    return [item for line in PARAMETERS.strip().splitlines() for item in line.split("|")]


def element(block, tile, *, vector=8, tail="", name=""):
    """Return one instance as headers write it."""
    name = name or "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle"
    return (
        f"{name}<NDimSpatial,ALayout,BLayout, DsLayout,ELayout, F16, F16, F32, F16, DsDataTypes, F16, "
        f"PassThrough, PassThrough, OutElementOp, ConvSpec, GemmMNKPadding, 1, {block}, {tile}, {tile}, 32, "
        f"8, 8, 32, 32, 2, 2, S<4, 64, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, {vector}, 8, 1, S<4, 64, 1>, "
        f"S<1, 0, 2>, S<1, 0, 2>, 2, {vector}, 8, 1, 1, 1, S<1, 32, 1, 8>, 8{tail}>"
    )


def line(block, tile, specialization, *, vector=8, merged=1):
    """Return the instance string of :func:`element`, written by hand."""
    return (
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<2,NHWGC,GKYXC,EmptyTuple,NHWGK,fp16,fp16,fp32,fp16,EmptyTuple,"
        f"fp16,PassThrough,PassThrough,PassThrough,{specialization},MNKPadding,1,{block},{tile},{tile},32,8,8,32,32,"
        f"2,2,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,{vector},8,true,Seq(4,64,1),Seq(1,0,2),Seq(1,0,2),2,{vector},8,"
        f"true,1,1,Seq(1,32,1,8),8,fp16,fp16,Default,{merged}>"
    )


def alias(name, *elements):
    """Return an alias of a tuple."""
    return ALIAS_HEAD.format(name=name) + ",\n".join(elements) + "\n>;\n"


MAIN_ALIAS = "device_grouped_conv_fwd_xdl_f16_instances"
MERGED_ALIAS = "device_grouped_conv_fwd_xdl_merged_groups_f16_instances"

TUPLES = alias(
    MAIN_ALIAS, element(256, 128), "// an old one\n" + element(128, 64, vector=4), "std::nullptr_t"
)
MERGED_TUPLES = alias(MERGED_ALIAS, element(64, 64, tail=", F16, F16, LoopScheduler::Default, 8"))


class Tree:
    """The small library; each part may be replaced before :meth:`write`."""

    def __init__(self, root):
        self.root = root
        self.head = (
            "template <"
            + ",\n".join(parameters())
            + ">\nstruct DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle\n"
        )
        self.texts = {
            "ck/config.h": CONFIG,
            "ck/version.h": "#define CK_VERSION 1.2.0\n#define CK_COMMIT_ID abc\n",
            f"{IMPL}/device_grouped_conv_fwd_multiple_abd_xdl_cshuffle.hpp": self.head + ": Base {};\n",
            f"{INSTANCES}/grouped_conv_fwd/device_grouped_conv_fwd_xdl_instance.hpp": PREAMBLE + TUPLES,
            f"{INSTANCES}/grouped_conv_fwd/device_grouped_conv_fwd_xdl_merged_groups_instance.hpp": PREAMBLE
            + MERGED_TUPLES,
        }
        for name, text in ENUMERATIONS.items():
            self.texts[f"ck/tensor_operation/gpu/device/{name}"] = text
        self.factory(HALF, MAIN, MERGED)

    def factory(self, condition, *functions):
        """Replace the forward factory."""
        calls = "\n".join(f"{name}(op_ptrs);" for name in functions)
        text = FACTORY.format(condition=condition, calls=calls)
        self.texts[f"{INSTANCES}/grouped_convolution_forward.hpp"] = text

    def tuples(self, text):
        """Replace the tuples of the main header."""
        self.texts[f"{INSTANCES}/grouped_conv_fwd/device_grouped_conv_fwd_xdl_instance.hpp"] = PREAMBLE + text

    def write(self):
        """Write the headers; return the include root."""
        include = self.root / "include"
        for path, text in self.texts.items():
            (include / path).parent.mkdir(parents=True, exist_ok=True)
            (include / path).write_text(text)
        return include
