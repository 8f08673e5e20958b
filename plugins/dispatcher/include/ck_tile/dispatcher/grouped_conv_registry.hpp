// SPDX-License-Identifier: MIT
// Part of the model of CK Tile's dispatcher: keys, kernels, the registry, and what runs a kernel of
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ck_tile/dispatcher/grouped_conv_problem.hpp"

namespace ck_tile {
namespace dispatcher {

enum class Priority
{
    Low    = 0,
    Normal = 1,
    High   = 2
};

// Where the tensors of a run lie: two operands and the result, whichever tensors of the convolution
// they are.
struct ConvDispatchBuffers
{
    const void* input_ptr  = nullptr;
    const void* weight_ptr = nullptr;
    void* output_ptr       = nullptr;
    int warmup             = 3;
    int repeat             = 10;
    bool benchmarking      = true;
    bool flush_cache       = false;
    int split_k            = 1;
};

inline thread_local ConvDispatchBuffers g_conv_dispatch_buffers;

// Two kernels with equal keys are one for the registry. wave_* counts the waves of a block, warp_*
// is the tile of one matrix instruction.
struct GroupedConvKernelKey
{
    std::string dtype_in;
    std::string dtype_wei;
    std::string dtype_out;
    std::string layout;
    int ndim_spatial = 2;
    GroupedConvOp op = GroupedConvOp::Forward;

    int tile_m = 1;
    int tile_n = 128;
    int tile_k = 128;
    int wave_m = 2;
    int wave_n = 2;
    int wave_k = 1;
    int warp_m = 32;
    int warp_n = 32;
    int warp_k = 16;

    std::string pipeline  = "compv3";
    std::string scheduler = "intrawave";
    std::string epilogue  = "cshuffle";

    int vector_size_a       = 4;
    int vector_size_b       = 8;
    int vector_size_c       = 8;
    int block_per_cu        = 1;
    int num_wave_groups     = 1;
    int num_groups_to_merge = 1;

    std::string specialization    = "default";
    bool large_tensor             = false;
    bool streamk_enabled          = false;
    std::string streamk_reduction = "none";
    bool streamk_persistent       = false;
    std::string arch              = "gfx942";

    bool operator==(const GroupedConvKernelKey&) const = default;
};

class GroupedConvKernelInstance
{
public:
    // Returns milliseconds, 0 where nothing is timed; throws what the launch throws.
    using RunFn         = std::function<float(const GroupedConvProblem&, void* stream)>;
    using IsSupportedFn = std::function<bool(const GroupedConvProblem&)>;

    GroupedConvKernelInstance(const GroupedConvKernelKey& key,
                              const std::string& name,
                              RunFn run_fn,
                              IsSupportedFn is_supported_fn      = nullptr,
                              const std::string& instance_string = "")
        : key_(key),
          name_(name),
          run_fn_(std::move(run_fn)),
          is_supported_fn_(std::move(is_supported_fn)),
          instance_string_(instance_string)
    {}

    const GroupedConvKernelKey& key() const { return key_; }

    const std::string& name(bool use_instance_string = false) const
    { return use_instance_string && !instance_string_.empty() ? instance_string_ : name_; }

    // A kernel without a test of its own supports everything.
    bool is_supported(const GroupedConvProblem& problem) const
    { return !is_supported_fn_ || is_supported_fn_(problem); }

    bool matches(const GroupedConvProblem& problem) const { return problem.op == key_.op; }

    float run(const GroupedConvProblem& problem, void* stream = nullptr) const
    { return run_fn_(problem, stream); }

private:
    GroupedConvKernelKey key_;
    std::string name_;
    RunFn run_fn_;
    IsSupportedFn is_supported_fn_;
    std::string instance_string_;
};

using GroupedConvKernelInstancePtr = std::shared_ptr<GroupedConvKernelInstance>;

class GroupedConvRegistry
{
public:
    static GroupedConvRegistry& instance()
    {
        static GroupedConvRegistry registry;
        return registry;
    }

    // False, and nothing changes, if a kernel with this key and no lower priority is there.
    bool register_kernel(const GroupedConvKernelKey& key,
                         GroupedConvKernelInstancePtr kernel,
                         Priority priority = Priority::Normal)
    {
        const auto found = std::find_if(
            entries_.begin(), entries_.end(), [&](const entry& one) { return one.key == key; });
        if(found == entries_.end())
        {
            entries_.push_back({key, std::move(kernel), priority});
            return true;
        }
        if(found->priority >= priority) { return false; }
        *found = {key, std::move(kernel), priority};
        return true;
    }

    std::size_t size() const { return entries_.size(); }
    bool empty() const { return entries_.empty(); }
    void clear() { entries_.clear(); }

    // The first kernel of the highest priority that computes what the problem asks for, supported
    // or not.
    const GroupedConvKernelInstance* find(const GroupedConvProblem& problem) const
    {
        const entry* best = nullptr;
        for(const entry& one : entries_)
        {
            if(one.kernel->matches(problem) && (best == nullptr || one.priority > best->priority))
            {
                best = &one;
            }
        }
        return best == nullptr ? nullptr : best->kernel.get();
    }

    std::vector<const GroupedConvKernelInstance*> all_kernels() const
    {
        return filter([](const GroupedConvKernelInstance&) { return true; });
    }

    std::vector<const GroupedConvKernelInstance*>
    filter(const std::function<bool(const GroupedConvKernelInstance&)>& wanted) const
    {
        std::vector<const GroupedConvKernelInstance*> result;
        for(const entry& one : entries_)
        {
            if(wanted(*one.kernel)) { result.push_back(one.kernel.get()); }
        }
        return result;
    }

    // Returns how many kernels of other devices were removed.
    std::size_t filter_by_arch(const std::string& gpu_arch)
    {
        return std::erase_if(entries_, [&](const entry& one) { return one.key.arch != gpu_arch; });
    }

private:
    struct entry
    {
        GroupedConvKernelKey key;
        GroupedConvKernelInstancePtr kernel;
        Priority priority;
    };

    std::vector<entry> entries_;
};

class GroupedConvDispatcher
{
public:
    explicit GroupedConvDispatcher(GroupedConvRegistry* registry) : registry_(registry) {}

    void set_benchmarking(bool enable) { benchmarking_ = enable; }

    const GroupedConvKernelInstance* select_kernel(const GroupedConvProblem& problem) const
    { return registry_->find(problem); }

    float run(const void* input_ptr,
              const void* weight_ptr,
              void* output_ptr,
              const GroupedConvProblem& problem,
              void* stream = nullptr,
              int warmup   = 3,
              int repeat   = 10)
    {
        const auto* kernel = select_kernel(problem);
        if(kernel == nullptr) { throw std::runtime_error("no kernel computes what is asked for"); }
        g_conv_dispatch_buffers = {
            .input_ptr    = input_ptr,
            .weight_ptr   = weight_ptr,
            .output_ptr   = output_ptr,
            .warmup       = warmup,
            .repeat       = repeat,
            .benchmarking = benchmarking_,
            .split_k      = problem.split_k,
        };
        return kernel->run(problem, stream);
    }

private:
    GroupedConvRegistry* registry_;
    bool benchmarking_ = true;
};

} // namespace dispatcher
} // namespace ck_tile
