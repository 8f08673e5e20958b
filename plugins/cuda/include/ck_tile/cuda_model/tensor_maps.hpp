// SPDX-License-Identifier: MIT
// Tensor maps by the driver, which is found at run time: nothing links against it.
#pragma once

#include <stdexcept>
#include <string>

#include <cuda.h>
#include <cuda_runtime.h>

#include "ck_tile/cuda_model/tensor_map_request.hpp"

namespace ck_tile::cuda_model {

namespace impl {

// A function of the driver as of CUDA 12.0, null if it has none.
inline void* driver_function(const char* name)
{
    void* function                        = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    if(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) !=
           cudaSuccess ||
       found != cudaDriverEntryPointSuccess)
    {
        (void)cudaGetLastError();
        return nullptr;
    }
    return function;
}

inline void check_encoding(CUresult result, const char* what)
{
    if(result != CUDA_SUCCESS)
    {
        throw std::runtime_error(std::string("the driver rejected the tensor map of ") + what +
                                 ": error " + std::to_string(static_cast<int>(result)));
    }
}

} // namespace impl

// Whether the driver can make tensor maps.
inline bool makes_tensor_maps()
{
    static const bool answer = impl::driver_function("cuTensorMapEncodeTiled") != nullptr &&
                               impl::driver_function("cuTensorMapEncodeIm2col") != nullptr;
    return answer;
}

inline CUtensorMap encode(const window_map_request& r, CUtensorMapDataType type)
{
    static const auto function = reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(
        impl::driver_function("cuTensorMapEncodeIm2col"));
    CUtensorMap map{};
    cuuint64_t size[5], stride[4];
    cuuint32_t step[5];
    for(int i = 0; i < r.rank; ++i)
    {
        size[i] = r.size[i];
        step[i] = r.step[i];
    }
    for(int i = 0; i < r.rank - 1; ++i) { stride[i] = r.byte_stride[i]; }
    impl::check_encoding(function(&map,
                                  type,
                                  static_cast<cuuint32_t>(r.rank),
                                  const_cast<void*>(r.base),
                                  size,
                                  stride,
                                  r.lower,
                                  r.upper,
                                  r.channels,
                                  r.pixels,
                                  step,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                         "windows");
    return map;
}

inline CUtensorMap encode(const tile_map_request& r, CUtensorMapDataType type)
{
    static const auto function = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(
        impl::driver_function("cuTensorMapEncodeTiled"));
    CUtensorMap map{};
    cuuint64_t size[5], stride[4];
    cuuint32_t box[5], step[5] = {1, 1, 1, 1, 1};
    for(int i = 0; i < r.rank; ++i)
    {
        size[i] = r.size[i];
        box[i]  = r.box[i];
    }
    for(int i = 0; i < r.rank - 1; ++i) { stride[i] = r.byte_stride[i]; }
    impl::check_encoding(
        function(&map,
                 type,
                 static_cast<cuuint32_t>(r.rank),
                 const_cast<void*>(r.base),
                 size,
                 stride,
                 box,
                 step,
                 CU_TENSOR_MAP_INTERLEAVE_NONE,
                 r.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "a tile");
    return map;
}

// The map of the last request: a kernel that is run again needs no new one.
template <typename Request>
class remembered_map
{
public:
    const CUtensorMap& get(const Request& request, CUtensorMapDataType type)
    {
        if(!known_ || !(request == request_))
        {
            map_     = encode(request, type);
            request_ = request;
            known_   = true;
        }
        return map_;
    }

private:
    bool known_ = false;
    Request request_{};
    CUtensorMap map_{};
};

} // namespace ck_tile::cuda_model
