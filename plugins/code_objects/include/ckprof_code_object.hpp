// SPDX-License-Identifier: MIT
//
// From a code object and the description of its launch to a launcher of a kernel library.
//
// A kernel is described by a generated type that has: operation, one of those below; ndim;
// instance_string(); code, the bytes of the code object, and symbol, the kernel's name in it;
// reject(sizes, report), which reports each condition that sizes do not meet, with the reason;
// workspace_bytes(sizes); clear(sizes, tensors, zero), which calls zero(pointer, bytes);
// make_launch(sizes), grid, block and LDS; argument_bytes and write(sizes, tensors, arguments).
#ifndef CKPROF_CODE_OBJECT_HPP
#define CKPROF_CODE_OBJECT_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "ck_tile/core/config.hpp"
#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"

#ifndef CKPROF_SUPPORT_ONLY
#include <hip/hip_runtime.h>

#include "ck_tile/host/kernel_launch.hpp"
#include "ckprof_workspace.hpp"
#endif

namespace ckprof::code_object {

// As formulas are computed: to the lower side, 0 for what a condition will reject.
inline int64_t floor_div(int64_t a, int64_t b)
{ return b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
inline int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

struct shape
{
    std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    int64_t dynamic_lds = 0;
};

// Addresses of tensors; those that an operation does not have stay null.
struct tensors
{
    const void* input  = nullptr;
    const void* weight = nullptr;
    const void* output = nullptr;
    const void* a      = nullptr;
    const void* b      = nullptr;
    const void* e      = nullptr;
    void* workspace    = nullptr;
};

// The block of arguments.
template <std::size_t Bytes>
class packed
{
public:
    template <typename T>
    void put(std::size_t offset, T value)
    { std::memcpy(bytes_.data() + offset, &value, sizeof(value)); }
    void put_address(std::size_t offset, const void* base, int64_t bytes)
    { put(offset, reinterpret_cast<uint64_t>(base) + static_cast<uint64_t>(bytes)); }

    std::byte* data() { return bytes_.data(); }

private:
    alignas(16) std::array<std::byte, (Bytes + 7) / 8 * 8> bytes_{};
};

inline bool within(int64_t value, int64_t least, int64_t most)
{ return value >= least && value <= most; }

// A convolution of any direction. Axes that it does not have are of length 1, with pads of 0.
struct convolution
{
    using problem = ck_tile::conv::ConvParam;

    struct sizes
    {
        int64_t G, N, K, C, split_k;
        int64_t in_d, in_h, in_w, filter_d, filter_h, filter_w, out_d, out_h, out_w;
        int64_t stride_d, stride_h, stride_w, dilation_d, dilation_h, dilation_w;
        int64_t pad_d, pad_h, pad_w, pad_right_d, pad_right_h, pad_right_w;
    };

    struct host_args : problem
    {
        const void *input, *weight, *output;
        int k_batch;

        host_args(const problem& asked,
                  const void* in,
                  const void* wei,
                  const std::vector<const void*>&,
                  const void* out,
                  int splits)
            : problem(asked),
              input(in),
              weight(wei),
              output(out),
              k_batch(splits)
        {}
    };

    static sizes sizes_of(const problem& p, int k_batch)
    {
        const auto of = [](const auto& lengths, std::size_t axis, int64_t absent) {
            const std::size_t missing = 3 - std::min<std::size_t>(3, lengths.size());
            return axis < missing ? absent : static_cast<int64_t>(lengths[axis - missing]);
        };
        const auto& in       = p.input_spatial_lengths_;
        const auto& filter   = p.filter_spatial_lengths_;
        const auto& out      = p.output_spatial_lengths_;
        const auto& stride   = p.conv_filter_strides_;
        const auto& dilation = p.conv_filter_dilations_;
        const auto& left     = p.input_left_pads_;
        const auto& right    = p.input_right_pads_;
        return {p.G_,
                p.N_,
                p.K_,
                p.C_,
                k_batch,
                of(in, 0, 1),
                of(in, 1, 1),
                of(in, 2, 1),
                of(filter, 0, 1),
                of(filter, 1, 1),
                of(filter, 2, 1),
                of(out, 0, 1),
                of(out, 1, 1),
                of(out, 2, 1),
                of(stride, 0, 1),
                of(stride, 1, 1),
                of(stride, 2, 1),
                of(dilation, 0, 1),
                of(dilation, 1, 1),
                of(dilation, 2, 1),
                of(left, 0, 0),
                of(left, 1, 0),
                of(left, 2, 0),
                of(right, 0, 0),
                of(right, 1, 0),
                of(right, 2, 0)};
    }

    static tensors tensors_of(const host_args& args)
    {
        tensors at;
        at.input  = args.input;
        at.weight = args.weight;
        at.output = args.output;
        return at;
    }
};

// E = A * B. What a library is asked with are host arguments, without pointers.
struct product
{
    struct host_args
    {
        const void* a;
        const void* b;
        void* e;
        int k_batch;
        ck_tile::index_t M, N, K, stride_A, stride_B, stride_E;

        host_args(const void* first,
                  const void* second,
                  void* result,
                  int splits,
                  ck_tile::index_t m,
                  ck_tile::index_t n,
                  ck_tile::index_t k,
                  ck_tile::index_t of_a,
                  ck_tile::index_t of_b,
                  ck_tile::index_t of_e)
            : a(first),
              b(second),
              e(result),
              k_batch(splits),
              M(m),
              N(n),
              K(k),
              stride_A(of_a),
              stride_B(of_b),
              stride_E(of_e)
        {}
    };

    using problem = host_args;

    struct sizes
    { int64_t M, N, K, stride_a, stride_b, stride_e, split_k; };

    static sizes sizes_of(const problem& p, int k_batch)
    { return {p.M, p.N, p.K, p.stride_A, p.stride_B, p.stride_E, k_batch}; }

    static tensors tensors_of(const host_args& args)
    {
        tensors at;
        at.a = args.a;
        at.b = args.b;
        at.e = args.e;
        return at;
    }
};

#ifndef CKPROF_SUPPORT_ONLY
inline void check(hipError_t error, const char* what)
{
    if(error == hipSuccess) return;
    (void)hipGetLastError(); // it is reported here
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

// Loaded once per process: the worker that runs the kernels uses one device.
template <typename Kernel>
hipFunction_t function_of()
{
    static hipFunction_t function = nullptr;
    if(function != nullptr) return function;
    static hipModule_t module = nullptr;
    if(module == nullptr)
        check(hipModuleLoadData(&module, Kernel::code), "the code object cannot be loaded");
    check(hipModuleGetFunction(&function, module, Kernel::symbol),
          "the code object has no such kernel");
    return function;
}
#endif

template <typename Kernel>
struct launcher
{
    using operation = typename Kernel::operation;
    using problem   = typename operation::problem;
    using HostArgs  = typename operation::host_args;

    static constexpr ck_tile::index_t NDimSpatial = Kernel::ndim;

    static bool rejects(const problem& asked,
                        int k_batch,
                        void (*report)(void*, const char*, const char*),
                        void* context)
    {
        bool rejected = false;
        Kernel::reject(operation::sizes_of(asked, k_batch),
                       [&](const char* condition, const std::string& reason) {
                           report(context, condition, reason.c_str());
                           rejected = true;
                       });
        return rejected;
    }

    static bool is_supported(const problem& asked, int k_batch)
    {
        return !rejects(asked, k_batch, [](void*, const char*, const char*) {}, nullptr);
    }

    static std::size_t workspace_bytes(const problem& asked, int k_batch)
    {
        return static_cast<std::size_t>(
            std::max<int64_t>(0, Kernel::workspace_bytes(operation::sizes_of(asked, k_batch))));
    }

    static std::string get_instance_string() { return Kernel::instance_string(); }

#ifndef CKPROF_SUPPORT_ONLY
    static float launch(const HostArgs& args, const ck_tile::stream_config& s)
    {
        const auto sizes                     = operation::sizes_of(args, args.k_batch);
        const hipFunction_t function         = function_of<Kernel>();
        const shape asked                    = Kernel::make_launch(sizes);
        constexpr int64_t lds_without_asking = 65536;
        if(asked.dynamic_lds > lds_without_asking)
            check(hipFuncSetAttribute(reinterpret_cast<const void*>(function),
                                      hipFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(asked.dynamic_lds)),
                  "LDS cannot be had");
        tensors at = operation::tensors_of(args);
        if(const int64_t bytes = Kernel::workspace_bytes(sizes); bytes > 0)
            at.workspace = workspace(static_cast<std::size_t>(bytes)).GetDeviceBuffer();
        packed<Kernel::argument_bytes> arguments;
        Kernel::write(sizes, at, arguments);
        std::size_t argument_bytes = Kernel::argument_bytes;
        return ck_tile::launch_kernel(s, [&](const ck_tile::stream_config& stream) {
            Kernel::clear(sizes, at, [&](const void* memory, int64_t bytes) {
                check(hipMemsetAsync(const_cast<void*>(memory),
                                     0,
                                     static_cast<std::size_t>(std::max<int64_t>(0, bytes)),
                                     stream.stream_id_),
                      "memory cannot be cleared");
            });
            void* extra[]     = {HIP_LAUNCH_PARAM_BUFFER_POINTER,
                                 arguments.data(),
                                 HIP_LAUNCH_PARAM_BUFFER_SIZE,
                                 &argument_bytes,
                                 HIP_LAUNCH_PARAM_END};
            const auto number = [](int64_t value) { return static_cast<unsigned>(value); };
            check(hipModuleLaunchKernel(function,
                                        number(asked.grid[0]),
                                        number(asked.grid[1]),
                                        number(asked.grid[2]),
                                        number(asked.block[0]),
                                        number(asked.block[1]),
                                        number(asked.block[2]),
                                        number(asked.dynamic_lds),
                                        stream.stream_id_,
                                        nullptr,
                                        extra),
                  "the kernel cannot be launched");
        });
    }
#endif
};

} // namespace ckprof::code_object

#endif
