// SPDX-License-Identifier: MIT
// Checks of device memory on the device: filling, sums that tell contents apart, comparison with a
// reference in double precision.
#include <cstdint>
#include <cstring>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "ckprof_target.h"

namespace {

constexpr int threads = 256;

unsigned blocks_for(uint64_t work)
{
    const uint64_t blocks = (work + threads - 1) / threads;
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks);
}

// Memory for answers, one piece per process.
void* answer_memory() noexcept
{
    static void* memory = [] {
        void* piece = nullptr;
        return cudaMalloc(&piece, 256) == cudaSuccess ? piece : nullptr;
    }();
    return memory;
}

ckprof_status done(cudaError_t error) noexcept
{ return error == cudaSuccess ? CKPROF_OK : CKPROF_FAILED; }

template <typename T>
ckprof_status fetch(T& answer, const void* memory) noexcept
{
    const cudaError_t started = cudaGetLastError();
    if(started != cudaSuccess) return CKPROF_FAILED;
    return done(cudaMemcpy(&answer, memory, sizeof(T), cudaMemcpyDeviceToHost));
}

__device__ uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Sum of mixed words; each is mixed with its place. Memory starts at a multiple of 8 bytes.
__global__ void sum_words(const unsigned char* memory, uint64_t bytes, unsigned long long* sum)
{
    const uint64_t words = bytes / 8;
    uint64_t own         = 0;
    for(uint64_t i = blockIdx.x * uint64_t{threads} + threadIdx.x; i <= words;
        i += gridDim.x * uint64_t{threads})
    {
        uint64_t word = 0;
        if(i < words) word = reinterpret_cast<const uint64_t*>(memory)[i];
        else
            for(uint64_t rest = words * 8; rest < bytes; ++rest) word = word << 8 | memory[rest];
        own += mix(word + mix(i + 0x9e3779b97f4a7c15ull));
    }
    for(int lanes = 16; lanes > 0; lanes /= 2) own += __shfl_down_sync(~0u, own, lanes);
    if(threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

struct tally
{
    unsigned long long error_bits; // of the largest error: ordered like the values, as they are >= 0
    unsigned long long wrong, unwritten, non_finite, first;
};

__device__ double value_of(const void* result, uint64_t i, int element, bool& poisoned, int poison)
{
    if(element == CKPROF_FP32)
    {
        const float value = static_cast<const float*>(result)[i];
        poisoned          = __float_as_uint(value) == poison * 0x01010101u;
        return value;
    }
    const unsigned short bits = static_cast<const unsigned short*>(result)[i];
    poisoned                  = bits == poison * 0x0101u;
    return element == CKPROF_FP16 ? __half2float(__ushort_as_half(bits))
                                  : __uint_as_float(static_cast<unsigned>(bits) << 16);
}

__global__ void compare_elements(const __grid_constant__ ckprof_comparison_request request, tally* all)
{
    for(uint64_t i = blockIdx.x * uint64_t{threads} + threadIdx.x; i < request.elements;
        i += gridDim.x * uint64_t{threads})
    {
        bool poisoned      = false;
        const double value = value_of(request.result, i, request.element, poisoned, request.poison);
        const double expected = request.reference[i];
        const bool finite     = isfinite(value);
        const double error    = fabs(value - expected);
        if(finite)
        {
            const auto bits = static_cast<unsigned long long>(__double_as_longlong(error));
            // Only errors that raise the maximum reach memory.
            if(bits > *static_cast<volatile unsigned long long*>(&all->error_bits))
                atomicMax(&all->error_bits, bits);
        }
        if(finite && error <= request.atol + request.rtol * fabs(expected)) continue;
        atomicAdd(&all->wrong, 1ull);
        if(poisoned) atomicAdd(&all->unwritten, 1ull);
        else if(!finite) atomicAdd(&all->non_finite, 1ull);
        atomicMin(&all->first, i);
    }
}

ckprof_status fill(void* memory, int32_t byte, uint64_t bytes) noexcept
{ return bytes == 0 ? CKPROF_OK : done(cudaMemset(memory, byte, bytes)); }

ckprof_status checksum(const void* memory, uint64_t bytes, uint64_t* sum) noexcept
{
    auto* answer = static_cast<unsigned long long*>(answer_memory());
    if(answer == nullptr) return CKPROF_FAILED;
    if(cudaMemsetAsync(answer, 0, sizeof(*answer), nullptr) != cudaSuccess) return CKPROF_FAILED;
    sum_words<<<blocks_for(bytes / 8 + 1), threads>>>(
        static_cast<const unsigned char*>(memory), bytes, answer);
    return fetch(*sum, answer);
}

ckprof_status compare(const ckprof_comparison_request* request, ckprof_comparison* answer) noexcept
{
    auto* memory = static_cast<tally*>(answer_memory());
    if(memory == nullptr) return CKPROF_FAILED;
    tally seen{0, 0, 0, 0, ~0ull};
    if(cudaMemcpy(memory, &seen, sizeof(seen), cudaMemcpyHostToDevice) != cudaSuccess)
        return CKPROF_FAILED;
    compare_elements<<<blocks_for(request->elements), threads>>>(*request, memory);
    if(const ckprof_status status = fetch(seen, memory); status != CKPROF_OK) return status;
    std::memcpy(&answer->max_error, &seen.error_bits, sizeof(answer->max_error));
    answer->wrong      = seen.wrong;
    answer->unwritten  = seen.unwritten;
    answer->non_finite = seen.non_finite;
    answer->first      = seen.first;
    return CKPROF_OK;
}

constexpr ckprof_device_checks checks = {fill, checksum, compare};

} // namespace

const ckprof_device_checks* ckprof_cuda_checks() { return &checks; }
