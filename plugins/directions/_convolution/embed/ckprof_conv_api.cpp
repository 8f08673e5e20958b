// SPDX-License-Identifier: MIT
//
// The C interface of a kernel library, over the table of its kernels and of its target.
#include "ckprof_conv_api.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "ckprof_conv_info.h"

#define CKPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int no_selection      = -1;
constexpr int wrong_selection   = -2;
constexpr float bad_argument    = -1;
constexpr float no_kernel       = -2;
constexpr float rejected        = -3;
constexpr size_t reason_bytes   = 4096;
constexpr int most_runs         = 1'000'000;
constexpr int default_warmup    = 3;
constexpr int default_repeat    = 10;
constexpr int forward           = 0;
constexpr int backward_data     = 1;
constexpr int backward_weight   = 2;
constexpr int most_dimensions   = 3;
constexpr float shortest_run_ms = std::numeric_limits<float>::min();

struct session
{
    // Kernels share a workspace and the device: one call at a time.
    std::mutex mutex;
    int selected              = no_selection;
    bool device_ready         = false;
    ckprof_conv_timing timing = {default_warmup, default_repeat, 0, 0};
};

session& the_session()
{
    // Never destroyed: another thread may still be in a call when the program ends.
    static session& one = *new session;
    return one;
}

const ckprof_library& library() { return *ckprof_get_library(); }

int kernel_count() { return static_cast<int>(library().kernel_count); }

const ckprof_kernel* kernel_at(int index)
{
    if(index < 0 || index >= kernel_count()) return nullptr;
    return library().kernels[index];
}

bool copy_text(const char* text, char* buffer, size_t size)
{
    if(buffer == nullptr || size == 0) return false;
    const size_t length = strnlen(text, size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
    return true;
}

// To be called with the mutex held.
bool make_device_ready(const char* arch, int index, char* reason, size_t size)
{
    session& state = the_session();
    if(state.device_ready) return true;
    const char* name       = arch != nullptr ? arch : ckprof_conv_library_info.arch;
    char why[reason_bytes] = "";
    if(library().target->select_device(name, index, why, sizeof(why)) != CKPROF_OK)
    {
        copy_text(why, reason, size);
        return false;
    }
    state.device_ready = true;
    return true;
}

bool is_well_formed(const ckprof_problem& problem)
{
    if(problem.ndim < 1 || problem.ndim > most_dimensions) return false;
    if(std::min({problem.groups, problem.batch, problem.out_channels, problem.in_channels}) < 1)
        return false;
    for(int axis = 0; axis < problem.ndim; ++axis)
    {
        if(std::min({problem.filter[axis],
                     problem.input[axis],
                     problem.strides[axis],
                     problem.dilations[axis]}) < 1 ||
           std::min(problem.left_pads[axis], problem.right_pads[axis]) < 0)
            return false;
        const int64_t reach = (problem.filter[axis] - 1) * problem.dilations[axis] + 1;
        const int64_t padded =
            problem.input[axis] + problem.left_pads[axis] + problem.right_pads[axis];
        if(padded < reach) return false;
    }
    return true;
}

// Returns false for a direction that the library does not have, or a malformed problem.
bool convert(const ConvProblemC& given, ckprof_problem& problem)
{
    if(given.direction != ckprof_conv_library_info.number || given.G < 1 ||
       given.C % given.G != 0 || given.K % given.G != 0)
        return false;
    const int ndim         = given.input_d > 1 || given.filter_z > 1 ? 3 : 2;
    const auto set_spatial = [&](int64_t (&values)[3], int d, int h, int w) {
        const int all[] = {d, h, w};
        std::copy(all + (3 - ndim), all + 3, values);
    };
    problem              = {};
    problem.ndim         = ndim;
    problem.split_k      = given.split_k == 0 ? 1 : given.split_k;
    problem.groups       = given.G;
    problem.batch        = given.N;
    problem.out_channels = given.K / given.G;
    problem.in_channels  = given.C / given.G;
    set_spatial(problem.filter, given.filter_z, given.filter_y, given.filter_x);
    set_spatial(problem.input, given.input_d, given.input_h, given.input_w);
    set_spatial(problem.strides, given.stride_d, given.stride_h, given.stride_w);
    set_spatial(problem.dilations, given.dilation_d, given.dilation_h, given.dilation_w);
    set_spatial(problem.left_pads, given.pad_d, given.pad_h, given.pad_w);
    set_spatial(problem.right_pads, given.pad_d, given.pad_h, given.pad_w);
    return is_well_formed(problem);
}

// Asks a kernel whether it supports a problem; the reasons why not are joined.
ckprof_status ask(const ckprof_kernel& kernel, const ckprof_problem& problem, std::string& reasons)
{
    const ckprof_report note = [](void* context, const char*, const char* message) {
        auto& text = *static_cast<std::string*>(context);
        if(!text.empty()) text += "; ";
        text += message;
    };
    ckprof_plan plan = {};
    reasons.clear();
    return kernel.is_supported(&problem, &plan, note, &reasons);
}

bool has_dimensions(int ndim)
{
    const int* ndims = ckprof_conv_library_info.ndims;
    return std::find(ndims, ndims + kernel_count(), ndim) != ndims + kernel_count();
}

// The number of the kernel to use for a problem, -1 if none supports it: the one with the smallest
// predicted time, the first one without a time model. With the mutex held.
int kernel_for(const ckprof_problem& problem)
{
    std::string reasons;
    const int selected = the_session().selected;
    const auto rank    = ckprof_conv_library_info.rank;
    if(selected == no_selection && rank != nullptr)
    {
        std::vector<int> order(static_cast<size_t>(kernel_count()));
        rank(&problem, order.data());
        for(const int index : order)
            if(ask(*kernel_at(index), problem, reasons) == CKPROF_OK) return index;
        return no_selection;
    }
    for(int index = 0; index < kernel_count(); ++index)
    {
        if(selected != no_selection && index != selected) continue;
        if(ask(*kernel_at(index), problem, reasons) == CKPROF_OK) return index;
    }
    return no_selection;
}

bool is_sensible(const ckprof_conv_timing& timing)
{
    return timing.warmup >= 0 && timing.warmup <= most_runs && timing.repeat >= 0 &&
           timing.repeat <= most_runs;
}

// With the mutex held.
float run_timed(const ckprof_kernel& kernel,
                const ckprof_problem& problem,
                const ckprof_buffers& buffers,
                const ckprof_conv_timing& timing,
                char* reason,
                size_t size)
{
    std::vector<double> times;
    const int repeat = std::max(timing.repeat, 1);
    for(int run = -timing.warmup; run < repeat; ++run)
    {
        if(run >= 0 && timing.flush_bytes > 0 &&
           library().target->flush_cache(timing.flush_bytes) != CKPROF_OK)
        {
            copy_text("the caches cannot be flushed", reason, size);
            return rejected;
        }
        double time_ms         = 0;
        char why[reason_bytes] = "";
        if(kernel.run(&problem, &buffers, 1, &time_ms, why, sizeof(why)) != CKPROF_OK)
        {
            copy_text(why, reason, size);
            return rejected;
        }
        if(run >= 0) times.push_back(time_ms);
    }
    double result = 0;
    if(timing.median != 0)
    {
        std::sort(times.begin(), times.end());
        const size_t middle = times.size() / 2;
        result = times.size() % 2 != 0 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    }
    else
    {
        for(const double time : times) result += time / static_cast<double>(times.size());
    }
    // A caller tells success by a positive number.
    return std::max(static_cast<float>(result), shortest_run_ms);
}

int has_direction(int number)
{ return ckprof_conv_library_info.number == number && kernel_count() > 0 ? 1 : 0; }

} // namespace

CKPROF_EXPORT int conv_dispatcher_init(void)
{
    const std::lock_guard lock(the_session().mutex);
    return make_device_ready(nullptr, 0, nullptr, 0) ? 0 : -1;
}

CKPROF_EXPORT int conv_dispatcher_cleanup(void)
{
    const std::lock_guard lock(the_session().mutex);
    if(the_session().device_ready) library().target->flush_cache(0);
    the_session().selected = no_selection;
    return 0;
}

CKPROF_EXPORT const char* conv_dispatcher_version(void) { return ckprof_conv_library_info.version; }

CKPROF_EXPORT int conv_dispatcher_has_kernels(void) { return has_direction(forward); }

CKPROF_EXPORT int conv_dispatcher_has_bwd_data(void) { return has_direction(backward_data); }

CKPROF_EXPORT int conv_dispatcher_has_bwd_weight(void) { return has_direction(backward_weight); }

CKPROF_EXPORT int conv_dispatcher_get_kernel_count(void) { return kernel_count(); }

CKPROF_EXPORT int conv_dispatcher_get_kernel_name(int index, char* name, int size)
{
    const ckprof_kernel* kernel = kernel_at(index);
    if(kernel == nullptr || size <= 0) return -1;
    return copy_text(kernel->name, name, static_cast<size_t>(size)) ? 0 : -1;
}

CKPROF_EXPORT bool conv_dispatcher_is_supported(const ConvProblemC* given)
{
    ckprof_problem problem;
    if(given == nullptr || !convert(*given, problem)) return false;
    const std::lock_guard lock(the_session().mutex);
    return make_device_ready(nullptr, 0, nullptr, 0) && kernel_for(problem) != no_selection;
}

CKPROF_EXPORT int conv_dispatcher_select_kernel(const ConvProblemC* given, char* name, int size)
{
    ckprof_problem problem;
    if(given == nullptr || size <= 0 || !convert(*given, problem)) return -1;
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, nullptr, 0)) return -1;
    const ckprof_kernel* kernel = kernel_at(kernel_for(problem));
    if(kernel == nullptr) return -1;
    return copy_text(kernel->name, name, static_cast<size_t>(size)) ? 0 : -1;
}

CKPROF_EXPORT float
conv_dispatcher_run(const void* a, const void* b, void* c, const ConvProblemC* given, void* stream)
{
    ckprof_problem problem;
    if(a == nullptr || b == nullptr || c == nullptr || given == nullptr || stream != nullptr ||
       given->direction < forward || given->direction > backward_weight)
        return bad_argument;
    if(has_direction(given->direction) == 0) return no_kernel;
    if(!convert(*given, problem)) return bad_argument;
    if(!has_dimensions(problem.ndim)) return no_kernel;
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, nullptr, 0)) return rejected;
    const ckprof_kernel* kernel = kernel_at(kernel_for(problem));
    if(kernel == nullptr) return rejected;
    // Kernels only read their operands, although the table has one type for all tensors.
    void* const given_buffers[] = {const_cast<void*>(a), const_cast<void*>(b), c};
    void* tensors[3]            = {};
    for(int position = 0; position < 3; ++position)
        tensors[ckprof_conv_library_info.buffers[position]] = given_buffers[position];
    const ckprof_buffers buffers = {tensors[0], tensors[1], tensors[2]};
    return run_timed(*kernel, problem, buffers, the_session().timing, nullptr, 0);
}

CKPROF_EXPORT int ckprof_conv_set_timing(const ckprof_conv_timing* timing)
{
    if(timing == nullptr || !is_sensible(*timing)) return -1;
    const std::lock_guard lock(the_session().mutex);
    the_session().timing = *timing;
    return 0;
}

CKPROF_EXPORT int ckprof_conv_select_index(int index)
{
    if(index != no_selection && kernel_at(index) == nullptr) return wrong_selection;
    const std::lock_guard lock(the_session().mutex);
    return the_session().selected = index;
}

CKPROF_EXPORT int ckprof_conv_find_kernel(const char* name)
{
    if(name == nullptr) return -1;
    for(int index = 0; index < kernel_count(); ++index)
        if(std::strcmp(kernel_at(index)->name, name) == 0) return index;
    return -1;
}

CKPROF_EXPORT int ckprof_conv_select_name(const char* name)
{
    const int index = ckprof_conv_find_kernel(name);
    return index < 0 ? wrong_selection : ckprof_conv_select_index(index);
}

CKPROF_EXPORT const char* ckprof_conv_direction(void) { return ckprof_conv_library_info.direction; }

CKPROF_EXPORT const char* ckprof_conv_arch(void) { return ckprof_conv_library_info.arch; }

CKPROF_EXPORT int ckprof_conv_buffer(int position)
{ return position < 0 || position > 2 ? -1 : ckprof_conv_library_info.buffers[position]; }

CKPROF_EXPORT int ckprof_conv_kernel_count(void) { return kernel_count(); }

CKPROF_EXPORT const char* ckprof_conv_kernel_name(int index)
{
    const ckprof_kernel* kernel = kernel_at(index);
    return kernel == nullptr ? nullptr : kernel->name;
}

CKPROF_EXPORT const char* ckprof_conv_kernel_key(int index)
{
    const ckprof_kernel* kernel = kernel_at(index);
    return kernel == nullptr ? nullptr : kernel->key;
}

CKPROF_EXPORT const char* ckprof_conv_kernel_fields(int index)
{ return kernel_at(index) == nullptr ? nullptr : ckprof_conv_library_info.fields[index]; }

CKPROF_EXPORT int ckprof_conv_instance_string(int index, char* text, size_t size)
{
    const ckprof_kernel* kernel = kernel_at(index);
    if(kernel == nullptr || text == nullptr || size == 0) return -1;
    return kernel->instance_string(text, size) == CKPROF_OK ? 0 : -3;
}

CKPROF_EXPORT int
ckprof_conv_is_supported(int index, const ckprof_problem* problem, char* reason, size_t size)
{
    copy_text("", reason, size);
    const ckprof_kernel* kernel = kernel_at(index);
    if(kernel == nullptr || problem == nullptr || !is_well_formed(*problem))
    {
        copy_text(kernel == nullptr ? "no such kernel" : "the problem is malformed", reason, size);
        return -1;
    }
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, reason, size)) return -1;
    std::string reasons;
    const ckprof_status status = ask(*kernel, *problem, reasons);
    if(status == CKPROF_OK) return 1;
    copy_text(reasons.c_str(), reason, size);
    return status == CKPROF_REJECTED ? 0 : -1;
}

CKPROF_EXPORT float ckprof_conv_run(int index,
                                    const ckprof_problem* problem,
                                    const ckprof_buffers* buffers,
                                    const ckprof_conv_timing* timing,
                                    char* reason,
                                    size_t size)
{
    copy_text("", reason, size);
    const ckprof_conv_timing once = {0, 1, 0, 0};
    const ckprof_kernel* kernel   = kernel_at(index);
    const char* wrong             = nullptr;
    if(kernel == nullptr)
        wrong = "no such kernel";
    else if(problem == nullptr || !is_well_formed(*problem))
        wrong = "the problem is malformed";
    else if(buffers == nullptr || buffers->input == nullptr || buffers->weight == nullptr ||
            buffers->output == nullptr)
        wrong = "a buffer is missing";
    else if(timing != nullptr && !is_sensible(*timing))
        wrong = "warmup or repeat is out of range";
    if(wrong != nullptr)
    {
        copy_text(wrong, reason, size);
        return bad_argument;
    }
    if(ckprof_conv_library_info.ndims[index] != problem->ndim)
    {
        copy_text("the kernel has another number of spatial dimensions", reason, size);
        return no_kernel;
    }
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, reason, size)) return rejected;
    return run_timed(*kernel, *problem, *buffers, timing == nullptr ? once : *timing, reason, size);
}

CKPROF_EXPORT int ckprof_conv_select_device(const char* arch, int index, char* reason, size_t size)
{
    copy_text("", reason, size);
    const std::lock_guard lock(the_session().mutex);
    the_session().device_ready = false;
    return make_device_ready(arch, index, reason, size) ? 0 : -1;
}

CKPROF_EXPORT int ckprof_conv_describe_device(char* text, size_t size)
{
    if(text == nullptr || size == 0) return -1;
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, text, size)) return -1;
    library().target->describe_device(text, size);
    return 0;
}

CKPROF_EXPORT void* ckprof_conv_allocate(size_t bytes)
{
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, nullptr, 0)) return nullptr;
    return library().target->allocate(bytes);
}

CKPROF_EXPORT void ckprof_conv_release(void* memory)
{
    if(memory != nullptr) library().target->release(memory);
}

CKPROF_EXPORT int ckprof_conv_copy_to_device(void* device, const void* host, size_t bytes)
{
    if(device == nullptr || host == nullptr) return -1;
    return library().target->copy_to_device(device, host, bytes) == CKPROF_OK ? 0 : -1;
}

CKPROF_EXPORT int ckprof_conv_copy_to_host(void* host, const void* device, size_t bytes)
{
    if(device == nullptr || host == nullptr) return -1;
    return library().target->copy_to_host(host, device, bytes) == CKPROF_OK ? 0 : -1;
}
