// SPDX-License-Identifier: MIT
//
// The C functions of a library of matrix products, over the table of its kernels and of its target.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#define CKPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr size_t reason_bytes   = 4096;
constexpr int64_t most          = std::numeric_limits<int32_t>::max();
constexpr int most_runs         = 1'000'000;
constexpr int most_d_tensors    = 2;
constexpr float shortest_run_ms = std::numeric_limits<float>::min();

struct session
{
    // Kernels share a workspace and the device: one call at a time.
    std::mutex mutex;
    bool initialised  = false;
    bool device_ready = false;
    std::string json;
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
{ return index < 0 || index >= kernel_count() ? nullptr : library().kernels[index]; }

bool copy_text(const char* text, char* buffer, size_t size)
{
    if(buffer == nullptr || size == 0) return false;
    const size_t length = strnlen(text, size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
    return true;
}

// The value of a kernel's field as it stands in its JSON object, empty if there is none. Values are
// numbers, words and texts without quotes in them.
std::string field(int index, std::initializer_list<const char*> names)
{
    const std::string fields = ckprof_get_info()->fields[index];
    for(const char* name : names)
    {
        const std::string label = std::string("\"") + name + "\":";
        const size_t place      = fields.find(label);
        if(place == std::string::npos) continue;
        const size_t start = place + label.size();
        return fields.substr(start, fields.find_first_of(",}", start) - start);
    }
    return {};
}

int number(int index, std::initializer_list<const char*> names)
{ return std::atoi(field(index, names).c_str()); }

// The sizes of a kernel: tile, MMA tile, grid of waves.
std::vector<int> sizes_of(int index)
{
    return {number(index, {"tile_m"}),
            number(index, {"tile_n"}),
            number(index, {"tile_k"}),
            number(index, {"mma_tile_m", "warp_tile_m"}),
            number(index, {"mma_tile_n", "warp_tile_n"}),
            number(index, {"mma_tile_k", "warp_tile_k"}),
            number(index, {"wave_grid_m", "warp_m"}),
            number(index, {"wave_grid_n", "warp_n"}),
            number(index, {"wave_grid_k", "warp_k"})};
}

// With the mutex held.
bool make_device_ready(const char* arch, int index, char* reason, size_t size)
{
    session& state = the_session();
    if(state.device_ready) return true;
    const char* name       = arch != nullptr ? arch : ckprof_get_info()->arch;
    char why[reason_bytes] = "";
    if(library().target->select_device(name, index, why, sizeof(why)) != CKPROF_OK)
    {
        copy_text(why, reason, size);
        return false;
    }
    state.device_ready = true;
    return true;
}

bool convert(const ckprof_gemm_problem& given,
             ckprof_problem& problem,
             const ckprof_gemm_extra& extra = {})
{
    const auto [least, largest]    = std::minmax({given.m, given.n, given.k});
    const auto [shortest, longest] = std::minmax({given.stride_a,
                                                  given.stride_b,
                                                  given.stride_e,
                                                  extra.batch_stride_a,
                                                  extra.batch_stride_b,
                                                  extra.batch_stride_e,
                                                  extra.stride_d[0],
                                                  extra.stride_d[1]});
    if(least < 1 || largest > most || shortest < 0 || longest > most) return false;
    if(extra.batch > most || extra.d_count < 0 || extra.d_count > most_d_tensors) return false;
    // D tensors that are combined with nothing, or an operation without them.
    if((extra.d_count == 0) != (extra.elementwise_op == 0)) return false;
    problem                = {};
    problem.split_k        = given.split_k < 1 ? -1 : given.split_k;
    const int64_t values[] = {given.m,
                              given.n,
                              given.k,
                              given.stride_a,
                              given.stride_b,
                              given.stride_e,
                              std::max<int64_t>(extra.batch, 1),
                              extra.batch_stride_a,
                              extra.batch_stride_b,
                              extra.batch_stride_e,
                              extra.elementwise_op,
                              extra.d_count,
                              extra.stride_d[0],
                              extra.stride_d[1]};
    std::copy(std::begin(values), std::end(values), problem.values);
    return true;
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

// The number of the kernel to use for a problem, -1 if none supports it: the one with the smallest
// predicted time, the first one without a time model. With the mutex held.
int kernel_for(const ckprof_problem& problem)
{
    std::vector<int> order(static_cast<size_t>(kernel_count()));
    std::iota(order.begin(), order.end(), 0);
    if(ckprof_get_info()->rank != nullptr) ckprof_get_info()->rank(&problem, order.data());
    std::string reasons;
    for(const int index : order)
        if(ask(*kernel_at(index), problem, reasons) == CKPROF_OK) return index;
    return -1;
}

// The same for packed matrices.
int kernel_for(int64_t m, int64_t n, int64_t k, ckprof_problem& problem)
{
    if(!the_session().initialised || !convert({m, n, k, 0, 0, 0, 1}, problem)) return -1;
    return kernel_for(problem);
}

// Memory of the target that is given back in the end.
struct memory
{
    explicit memory(size_t bytes) : address(library().target->allocate(bytes)) {}
    memory(const memory&)            = delete;
    memory& operator=(const memory&) = delete;
    ~memory()
    {
        if(address != nullptr) library().target->release(address);
    }
    void* address;
};

// The tensors of a kernel, in the operation's order: A, B, E, D tensors.
struct tensors
{
    const ckprof_buffers* buffers() const
    { return reinterpret_cast<const ckprof_buffers*>(addresses); }

    void* addresses[CKPROF_MAX_TENSORS];
};

} // namespace

CKPROF_EXPORT int dispatcher_initialize(void)
{
    const std::lock_guard lock(the_session().mutex);
    the_session().initialised = make_device_ready(nullptr, 0, nullptr, 0);
    return the_session().initialised ? 0 : -1;
}

CKPROF_EXPORT int dispatcher_init(void) { return dispatcher_initialize(); }

CKPROF_EXPORT void dispatcher_cleanup(void)
{
    const std::lock_guard lock(the_session().mutex);
    the_session().initialised = false;
}

CKPROF_EXPORT int dispatcher_get_kernel_config(int* tile_m,
                                               int* tile_n,
                                               int* tile_k,
                                               int* mma_m,
                                               int* mma_n,
                                               int* mma_k,
                                               int* grid_m,
                                               int* grid_n,
                                               int* grid_k)
{
    const std::lock_guard lock(the_session().mutex);
    if(!the_session().initialised || kernel_count() == 0) return -1;
    int* const wanted[] = {tile_m, tile_n, tile_k, mma_m, mma_n, mma_k, grid_m, grid_n, grid_k};
    const auto sizes    = sizes_of(0);
    for(size_t at = 0; at < sizes.size(); ++at)
        if(wanted[at] != nullptr) *wanted[at] = sizes[at];
    return 0;
}

CKPROF_EXPORT int dispatcher_select_kernel(int64_t m, int64_t n, int64_t k, char* name, int size)
{
    if(name == nullptr || size <= 0) return -1;
    const std::lock_guard lock(the_session().mutex);
    ckprof_problem problem;
    const ckprof_kernel* kernel = kernel_at(kernel_for(m, n, k, problem));
    if(kernel == nullptr) return -1;
    return copy_text(kernel->name, name, static_cast<size_t>(size)) ? 0 : -1;
}

CKPROF_EXPORT int dispatcher_is_supported(int64_t m, int64_t n, int64_t k)
{
    const std::lock_guard lock(the_session().mutex);
    ckprof_problem problem;
    return kernel_for(m, n, k, problem) < 0 ? 0 : 1;
}

CKPROF_EXPORT int dispatcher_run_gemm(
    const void* a, const void* b, void* e, int64_t m, int64_t n, int64_t k, float* time_ms)
{
    if(time_ms != nullptr) *time_ms = -1;
    if(a == nullptr || b == nullptr || e == nullptr || std::min({m, n, k}) < 1) return -1;
    const std::lock_guard lock(the_session().mutex);
    if(!the_session().initialised) return -1;
    ckprof_problem problem;
    const int index = kernel_for(m, n, k, problem);
    if(index < 0) return -2;
    const auto bytes = [&](int64_t elements, const char* name) {
        return static_cast<size_t>(elements * number(index, {name}));
    };
    const size_t sizes[] = {
        bytes(m * k, "first_bytes"), bytes(k * n, "second_bytes"), bytes(m * n, "result_bytes")};
    const memory first(sizes[0]), second(sizes[1]), result(sizes[2]);
    if(first.address == nullptr || second.address == nullptr || result.address == nullptr)
        return -1;
    const std::vector<char> zeros(sizes[2]);
    const ckprof_target& target = *library().target;
    if(target.copy_to_device(first.address, a, sizes[0]) != CKPROF_OK ||
       target.copy_to_device(second.address, b, sizes[1]) != CKPROF_OK ||
       target.copy_to_device(result.address, zeros.data(), sizes[2]) != CKPROF_OK)
        return -1;
    const tensors all      = {{first.address, second.address, result.address}};
    double elapsed_ms      = 0;
    char why[reason_bytes] = "";
    if(kernel_at(index)->run(&problem, all.buffers(), 1, &elapsed_ms, why, sizeof(why)) !=
           CKPROF_OK ||
       target.copy_to_host(e, result.address, sizes[2]) != CKPROF_OK)
        return -1;
    if(time_ms != nullptr) *time_ms = std::max(static_cast<float>(elapsed_ms), shortest_run_ms);
    return 0;
}

CKPROF_EXPORT const char* dispatcher_get_kernel_name(void)
{ return kernel_count() == 0 ? "" : kernel_at(0)->name; }

CKPROF_EXPORT int dispatcher_get_kernel_name_at(int index, char* name, int size)
{
    const ckprof_kernel* kernel = kernel_at(index);
    if(kernel == nullptr || size <= 0) return -1;
    return copy_text(kernel->name, name, static_cast<size_t>(size)) ? 0 : -1;
}

CKPROF_EXPORT int dispatcher_get_kernel_count(void) { return kernel_count(); }

CKPROF_EXPORT const char* dispatcher_export_registry_json(void)
{
    const std::lock_guard lock(the_session().mutex);
    const auto extent = [](const char* name, const std::vector<int>& sizes, size_t first) {
        return std::string("\"") + name + "\":{\"m\":" + std::to_string(sizes[first]) +
               ",\"n\":" + std::to_string(sizes[first + 1]) +
               ",\"k\":" + std::to_string(sizes[first + 2]) + "}";
    };
    const auto flag = [](int index, const char* label, std::initializer_list<const char*> names) {
        return std::string(",\"") + label +
               "\":" + (field(index, names) == "true" ? "true" : "false");
    };
    char stamp[32]        = "";
    const std::time_t now = std::time(nullptr);
    std::tm utc           = {};
    std::strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    std::string& json = the_session().json;
    json = std::string("{\"metadata\":{\"timestamp\":\"") + stamp +
           "\",\"total_kernels\":" + std::to_string(kernel_count()) +
           ",\"export_version\":\"1.0\",\"dispatcher_version\":\"1.0.0\"},\"statistics\":"
           "{\"by_datatype\":{},\"by_pipeline\":{},\"by_scheduler\":{}},\"kernels\":[";
    for(int index = 0; index < kernel_count(); ++index)
    {
        const std::string name = kernel_at(index)->name;
        const auto sizes       = sizes_of(index);
        const int waves        = sizes[6] * sizes[7] * sizes[8];
        // the identifier is the name without the operation
        json += std::string(index == 0 ? "" : ",") + "{\"identifier\":\"" +
                (name.rfind("gemm_", 0) == 0 ? name.substr(5) : name) + "\",\"name\":\"" + name +
                "\",\"algorithm\":{" + extent("tile_shape", sizes, 0) + "," +
                extent("wave_shape", sizes, 6) + "," + extent("warp_tile_shape", sizes, 3) +
                ",\"block_size\":" + std::to_string(waves * 64) +
                flag(index, "persistent", {"persistent"}) +
                flag(index, "double_buffer", {"double_buffer", "double_smem_buffer"}) +
                flag(index, "preshuffle", {"preshuffle"}) +
                flag(index, "transpose_c", {"transpose_c"}) + "}}";
    }
    json += "]}";
    return json.c_str();
}

CKPROF_EXPORT const char* ckprof_gemm_arch(void) { return ckprof_get_info()->arch; }

CKPROF_EXPORT int ckprof_gemm_kernel_count(void) { return kernel_count(); }

CKPROF_EXPORT const char* ckprof_gemm_kernel_name(int index)
{ return kernel_at(index) == nullptr ? nullptr : kernel_at(index)->name; }

CKPROF_EXPORT const char* ckprof_gemm_kernel_key(int index)
{ return kernel_at(index) == nullptr ? nullptr : kernel_at(index)->key; }

CKPROF_EXPORT const char* ckprof_gemm_kernel_fields(int index)
{ return kernel_at(index) == nullptr ? nullptr : ckprof_get_info()->fields[index]; }

CKPROF_EXPORT int ckprof_gemm_find_kernel(const char* name)
{
    for(int index = 0; name != nullptr && index < kernel_count(); ++index)
        if(std::strcmp(kernel_at(index)->name, name) == 0) return index;
    return -1;
}

CKPROF_EXPORT int ckprof_gemm_instance_string(int index, char* text, size_t size)
{
    const ckprof_kernel* kernel = kernel_at(index);
    if(kernel == nullptr || text == nullptr || size == 0) return -1;
    return kernel->instance_string(text, size) == CKPROF_OK ? 0 : -3;
}

CKPROF_EXPORT int
ckprof_gemm_is_supported(int index, const ckprof_gemm_problem* given, char* reason, size_t size)
{
    const ckprof_gemm_extra none = {};
    return ckprof_gemm_is_supported_with(index, given, &none, reason, size);
}

CKPROF_EXPORT int ckprof_gemm_is_supported_with(int index,
                                                const ckprof_gemm_problem* given,
                                                const ckprof_gemm_extra* extra,
                                                char* reason,
                                                size_t size)
{
    copy_text("", reason, size);
    const ckprof_kernel* kernel = kernel_at(index);
    ckprof_problem problem;
    if(kernel == nullptr || given == nullptr || extra == nullptr ||
       !convert(*given, problem, *extra))
    {
        copy_text(kernel == nullptr ? "no such kernel" : "the problem is malformed", reason, size);
        return -1;
    }
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, reason, size)) return -1;
    std::string reasons;
    const ckprof_status status = ask(*kernel, problem, reasons);
    if(status == CKPROF_OK) return 1;
    copy_text(reasons.c_str(), reason, size);
    return status == CKPROF_REJECTED ? 0 : -1;
}

CKPROF_EXPORT int ckprof_gemm_select_kernel(const ckprof_gemm_problem* given,
                                            const ckprof_gemm_extra* extra)
{
    ckprof_problem problem;
    if(given == nullptr ||
       !convert(*given, problem, extra == nullptr ? ckprof_gemm_extra{} : *extra))
        return -1;
    const std::lock_guard lock(the_session().mutex);
    return make_device_ready(nullptr, 0, nullptr, 0) ? kernel_for(problem) : -1;
}

CKPROF_EXPORT float ckprof_gemm_run(int index,
                                    const ckprof_gemm_problem* given,
                                    const void* a,
                                    const void* b,
                                    void* e,
                                    int warmup,
                                    int repeat,
                                    char* reason,
                                    size_t size)
{
    const ckprof_gemm_extra none = {};
    return ckprof_gemm_run_with(
        index, given, &none, a, b, nullptr, e, warmup, repeat, reason, size);
}

CKPROF_EXPORT float ckprof_gemm_run_with(int index,
                                         const ckprof_gemm_problem* given,
                                         const ckprof_gemm_extra* extra,
                                         const void* a,
                                         const void* b,
                                         const void* const* d,
                                         void* e,
                                         int warmup,
                                         int repeat,
                                         char* reason,
                                         size_t size)
{
    copy_text("", reason, size);
    const ckprof_kernel* kernel = kernel_at(index);
    ckprof_problem problem;
    const char* wrong = nullptr;
    if(kernel == nullptr)
        wrong = "no such kernel";
    else if(given == nullptr || extra == nullptr || !convert(*given, problem, *extra))
        wrong = "the problem is malformed";
    else if(a == nullptr || b == nullptr || e == nullptr ||
            (extra->d_count > 0 &&
             (d == nullptr || std::count(d, d + extra->d_count, nullptr) > 0)))
        wrong = "a buffer is missing";
    else if(std::min(warmup, repeat) < 0 || std::max(warmup, repeat) > most_runs)
        wrong = "warmup or repeat is out of range";
    if(wrong != nullptr)
    {
        copy_text(wrong, reason, size);
        return -1;
    }
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, reason, size)) return -3;
    // Kernels only read their operands, although the table has one type for all tensors.
    tensors all = {{const_cast<void*>(a), const_cast<void*>(b), e}};
    for(int i = 0; i < extra->d_count; ++i) all.addresses[3 + i] = const_cast<void*>(d[i]);
    const int runs  = std::max(repeat, 1);
    double total_ms = 0;
    for(int run = -warmup; run < runs; ++run)
    {
        double time_ms         = 0;
        char why[reason_bytes] = "";
        if(kernel->run(&problem, all.buffers(), 1, &time_ms, why, sizeof(why)) != CKPROF_OK)
        {
            copy_text(why, reason, size);
            return -3;
        }
        if(run >= 0) total_ms += time_ms;
    }
    return std::max(static_cast<float>(total_ms / runs), shortest_run_ms);
}

CKPROF_EXPORT int ckprof_gemm_select_device(const char* arch, int index, char* reason, size_t size)
{
    copy_text("", reason, size);
    const std::lock_guard lock(the_session().mutex);
    the_session().device_ready = false;
    return make_device_ready(arch, index, reason, size) ? 0 : -1;
}

CKPROF_EXPORT void* ckprof_gemm_allocate(size_t bytes)
{
    const std::lock_guard lock(the_session().mutex);
    if(!make_device_ready(nullptr, 0, nullptr, 0)) return nullptr;
    return library().target->allocate(bytes);
}

CKPROF_EXPORT void ckprof_gemm_release(void* memory)
{
    if(memory != nullptr) library().target->release(memory);
}

CKPROF_EXPORT int ckprof_gemm_copy_to_device(void* device, const void* host, size_t bytes)
{
    if(device == nullptr || host == nullptr) return -1;
    return library().target->copy_to_device(device, host, bytes) == CKPROF_OK ? 0 : -1;
}

CKPROF_EXPORT int ckprof_gemm_copy_to_host(void* host, const void* device, size_t bytes)
{
    if(device == nullptr || host == nullptr) return -1;
    return library().target->copy_to_host(host, device, bytes) == CKPROF_OK ? 0 : -1;
}
