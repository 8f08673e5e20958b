// SPDX-License-Identifier: MIT
// The emulated device of this process: its memory, its kernels, what has gone wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "runtime/code_object.hpp"
#include "runtime/executor.hpp"
#include "runtime/options.hpp"
#include "timing/launch_timing.hpp"

namespace ckprof::emulator {

// What a device of an architecture is said to be; the table is made of ckprof's own.
struct DeviceModel
{
    const char* arch;
    unsigned compute_units, clock_mhz, lds_bytes, lanes_per_wave;
    uint64_t memory_bytes;
};

const DeviceModel& find_model(const std::string& arch);

// A kernel that a program has asked a module for; its address stands for it.
struct Function
{
    // The most dynamic LDS of a launch, if the program has set it.
    std::optional<uint32_t> dynamic_lds_most;
};

// Device code that a library has brought along, which is decoded when the first of its kernels
// runs, or that a program has loaded.
struct Module
{
    std::string arch; // with features
    std::vector<std::byte> elf;
    std::string unreadable; // why there is no code
    std::unique_ptr<CodeObject> code;
    std::map<std::string, Function> functions;
};

// Checkers have found something in a kernel that has come to its end.
class CheckFailure : public std::runtime_error
{ using std::runtime_error::runtime_error; };

// A code object is for another architecture than the device's.
class WrongArchitecture : public std::runtime_error
{ using std::runtime_error::runtime_error; };

class Device
{
public:
    // Throws std::invalid_argument for wrong options.
    Device();

    Module* add_module(const void* bundle);
    void remove_module(Module* module);
    void add_kernel(Module* module, const void* host_function, std::string name);
    void add_variable(Module* module, const void* host_variable, std::string name);

    // Loads and decodes the one of a bundle's code objects, or the code object, that is for the
    // device; a device without kernels becomes what it is for. The image has at most `bytes`.
    // Throws WrongArchitecture, and std::runtime_error for what cannot be read.
    Module* load_module(const void* image, size_t bytes);
    // What stands for a kernel of a module that is loaded; null if it has no such kernel.
    Function* find_function(Module* module, const std::string& name);
    bool is_loaded(const Module* module);
    // Of a module that is loaded.
    bool is_loaded(const Function* function);
    // What launches of a kernel, of a module or of host code, may ask for. Throws
    // std::invalid_argument for more than the device has, std::runtime_error for no kernel.
    void set_dynamic_lds(const void* function, int64_t bytes);
    // As it was set.
    std::optional<uint32_t> dynamic_lds_most(const Function* function);

    std::optional<Variable> find_variable(const void* host_variable);

    // How many workgroups of n work-items a compute unit holds at once.
    unsigned resident(const void* host_function, unsigned threads, unsigned lds_bytes);

    // Executes the kernel. Throws DeviceError for what ends a kernel on a device as well, and
    // CheckFailure.
    void launch(const void* host_function, const LaunchShape& shape, void** arguments);
    // The same with arguments that lie one behind the other as the kernel's metadata say. Throws
    // std::invalid_argument if they are fewer bytes than its arguments take, or more than its block
    // of arguments.
    void
    launch(const void* host_function, const LaunchShape& shape, std::span<const std::byte> packed);

    const Options& options() const { return options_; }
    const DeviceModel& model() const;
    std::string arch() const; // with features
    uint64_t memory_bytes() const;
    uint64_t memory_used() const { return used_; }

    // Null where memory does not suffice. What the host can write without a word counts as written.
    void* allocate(size_t bytes, bool host_writes = false);
    bool free(void* memory);
    // Executes `bytes` of memory being set; times are predicted without touching it.
    void set(void* memory, size_t pitch, int value, size_t width, size_t height);

    // From now on launches execute a few of their workgroups, to predict how long all would take.
    void begin_timing(TimingOptions options);
    // What was launched or set since, one JSON object each.
    std::vector<std::string>& timings() { return timings_; }

    // From now on launches execute the workgroups at these places alone, from 0 for the first to 1
    // for the last one, and memory is zeros that take none of the host's until they are touched.
    // Returns how often memory was set since the call before.
    uint64_t sample(std::vector<double> places);
    // Workgroups and waves of launches from now on: as Launch has it.
    void order(bool reverse, uint64_t seed);

    // Whether all bytes are in one allocation of the program or in one variable.
    bool holds(const void* memory, size_t bytes) const;
    // Notes that the host has written bytes of an allocation, or copied them from another one.
    void written(void* memory, size_t bytes);
    void copied(void* to, const void* from, size_t bytes);

private:
    struct Symbol
    {
        Module* module;
        std::string name;
    };

    void
    launch_locked(Module& module, const Kernel& kernel, const LaunchShape& shape, void** arguments);
    CodeObject& loaded(Module& module);
    // Throws std::runtime_error where it is missing.
    std::pair<Module&, const Kernel*> kernel(const void* host_function);
    void omit(CodeObject& code, const Kernel& kernel);
    Executor& executor();

    std::optional<TimingOptions> timing_;
    std::vector<std::string> timings_;
    Options options_;
    std::mutex mutex_; // of what libraries announce, and of launches
    DeviceMemory memory_;
    std::vector<std::unique_ptr<Module>> modules_;
    std::map<const void*, Symbol> kernels_, variables_;
    std::map<const std::byte*, size_t> blocks_;
    uint64_t used_ = 0;
    std::set<const Kernel*> omitted_; // kernels that a planted fault has been put into
    std::unique_ptr<Executor> executor_;
    bool sparse_   = false; // memory of allocations from now on
    uint64_t sets_ = 0;     // since the last sample
};

Device& device();

} // namespace ckprof::emulator
