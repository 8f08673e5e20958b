// SPDX-License-Identifier: MIT
#include "runtime/device.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include "checks/session.hpp"
#include "isa/architectures.hpp"
#include "runtime/offload_bundle.hpp"
#include "runtime/timing_text.hpp"

namespace ckprof::emulator {
namespace {

constexpr uint64_t page_bytes  = 4096;
constexpr DeviceModel models[] = {
#include "emulated_devices.inc"
};

// Mangled names of templates have thousands of characters.
std::string shortened(const std::string& name)
{
    constexpr size_t most = 200;
    return name.size() <= most
               ? name
               : name.substr(0, most / 2) + "..." + name.substr(name.size() - most / 2);
}

// Empty if there are none.
std::string text_of(const std::vector<Finding>& findings)
{
    constexpr size_t shown = 5;
    if(findings.empty()) return {};
    std::string text = std::to_string(findings.size()) +
                       (findings.size() == 1 ? " finding" : " findings") + " of checks";
    for(size_t n = 0; n < std::min(findings.size(), shown); ++n)
        text += "\n" + findings[n].check + ": " + findings[n].message + " (" +
                std::to_string(findings[n].count) + " times)";
    if(findings.size() > shown)
        text += "\nand " + std::to_string(findings.size() - shown) + " more";
    return text;
}

size_t padded(size_t bytes)
{ return (std::max<size_t>(bytes, 1) + page_bytes - 1) / page_bytes * page_bytes; }

// Zeros, of which the host has what is touched: in pieces of a page if that is to be seen.
std::byte* map_pages(size_t bytes, bool piece_by_piece)
{
    void* memory = mmap(nullptr,
                        padded(bytes),
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    if(memory == MAP_FAILED) return nullptr;
    if(piece_by_piece) madvise(memory, padded(bytes), MADV_NOHUGEPAGE);
    return static_cast<std::byte*>(memory);
}

// Makes whole pages what they were before anything touched them.
void clear(std::byte* memory, size_t bytes)
{
    const auto address   = reinterpret_cast<uint64_t>(memory);
    const uint64_t first = padded(address), end = (address + bytes) / page_bytes * page_bytes;
    if(first >= end)
    {
        std::memset(memory, 0, bytes);
        return;
    }
    std::memset(memory, 0, first - address);
    madvise(memory + (first - address), end - first, MADV_DONTNEED);
    std::memset(memory + (end - address), 0, address + bytes - end);
}

void fill_undefined(std::byte* memory, size_t bytes, uint32_t value)
{
    for(size_t at = 0; at < bytes; at += sizeof(value))
        std::memcpy(memory + at, &value, sizeof(value));
}

} // namespace

const DeviceModel& find_model(const std::string& arch)
{
    const std::string base = arch.substr(0, arch.find(':'));
    for(const DeviceModel& model : models)
        if(base == model.arch) return model;
    throw std::runtime_error("the emulated device cannot be a " + base);
}

Device::Device() : options_(Options::from_environment()) {}

Module* Device::load_module(const void* image, size_t bytes)
{
    auto module                      = std::make_unique<Module>();
    std::vector<BundleEntry> entries = read_image(image, bytes);
    const std::lock_guard lock(mutex_);
    const bool fixed =
        std::ranges::any_of(modules_, [](const auto& known) { return !known->arch.empty(); });
    const auto base = [](const std::string& name) { return name.substr(0, name.find(':')); };
    const auto fits = std::ranges::find_if(entries, [&](const BundleEntry& entry) {
        return find_architecture(entry.arch) && (!fixed || base(entry.arch) == base(arch()));
    });
    if(fits == entries.end())
    {
        std::string found;
        for(const BundleEntry& entry : entries) found += (found.empty() ? "" : ", ") + entry.arch;
        throw WrongArchitecture(
            "the image has code for " + (found.empty() ? "nothing" : found) +
            (fixed ? "; the device is a " + base(arch()) : ", which is not emulated"));
    }
    module->arch = fits->arch;
    module->elf  = std::move(fits->code_object);
    (void)loaded(*module);
    modules_.push_back(std::move(module));
    return modules_.back().get();
}

bool Device::is_loaded(const Module* module)
{
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(modules_, [&](const auto& known) { return known.get() == module; });
}

bool Device::is_loaded(const Function* function)
{
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(function);
    if(found == kernels_.end()) return false;
    const auto& functions = found->second.module->functions;
    return std::ranges::any_of(functions,
                               [&](const auto& known) { return &known.second == function; });
}

Function* Device::find_function(Module* module, const std::string& name)
{
    const std::lock_guard lock(mutex_);
    if(loaded(*module).find(name) == nullptr) return nullptr;
    Function* function = &module->functions[name];
    kernels_[function] = {module, name};
    return function;
}

void Device::set_dynamic_lds(const void* function, int64_t bytes)
{
    const std::lock_guard lock(mutex_);
    const auto [module, kernel] = this->kernel(function);
    const int64_t most = int64_t{find_model(module.arch).lds_bytes} - int64_t{kernel->lds_bytes};
    if(bytes < 0 || bytes > most)
        throw std::invalid_argument(std::to_string(bytes) + " bytes of dynamic LDS; " +
                                    shortened(kernel->name) + " can have up to " +
                                    std::to_string(most) + " on " + module.arch);
    for(auto& [name, known] : module.functions)
        if(&known == function) known.dynamic_lds_most = static_cast<uint32_t>(bytes);
}

std::optional<uint32_t> Device::dynamic_lds_most(const Function* function)
{
    const std::lock_guard lock(mutex_);
    return function->dynamic_lds_most;
}

Module* Device::add_module(const void* bundle)
{
    auto module = std::make_unique<Module>();
    try
    {
        for(BundleEntry& entry : read_bundle(bundle))
            if(module->elf.empty() && find_architecture(entry.arch))
            {
                module->arch = entry.arch;
                module->elf  = std::move(entry.code_object);
            }
        if(module->elf.empty())
            module->unreadable = "the library has no code for an architecture that is emulated";
    }
    catch(const std::exception& error)
    {
        module->unreadable = error.what();
    }
    const std::lock_guard lock(mutex_);
    modules_.push_back(std::move(module));
    return modules_.back().get();
}

void Device::remove_module(Module* module)
{
    const std::lock_guard lock(mutex_);
    // another kernel may get the address of one that is gone
    std::erase_if(omitted_, [&](const Kernel* kernel) {
        return module->code != nullptr && module->code->find(kernel->name) == kernel;
    });
    std::erase_if(kernels_, [&](const auto& entry) { return entry.second.module == module; });
    std::erase_if(variables_, [&](const auto& entry) { return entry.second.module == module; });
    std::erase_if(modules_, [&](const auto& known) { return known.get() == module; });
}

void Device::add_kernel(Module* module, const void* host_function, std::string name)
{
    const std::lock_guard lock(mutex_);
    kernels_[host_function] = {module, std::move(name)};
}

void Device::add_variable(Module* module, const void* host_variable, std::string name)
{
    const std::lock_guard lock(mutex_);
    variables_[host_variable] = {module, std::move(name)};
}

CodeObject& Device::loaded(Module& module)
{
    if(!module.unreadable.empty()) throw std::runtime_error(module.unreadable);
    if(module.code != nullptr) return *module.code;
    module.code =
        std::make_unique<CodeObject>(*find_architecture(module.arch), module.elf, memory_);
    // no address depends on what matrices hold
    if(timing_) module.code->omit_matrix();
    return *module.code;
}

std::optional<Variable> Device::find_variable(const void* host_variable)
{
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(host_variable);
    if(found == variables_.end()) return std::nullopt;
    return loaded(*found->second.module).variable(found->second.name);
}

std::pair<Module&, const Kernel*> Device::kernel(const void* host_function)
{
    const auto found = kernels_.find(host_function);
    if(found == kernels_.end()) throw std::runtime_error("no library has such a kernel");
    Module& module       = *found->second.module;
    const Kernel* kernel = loaded(module).find(found->second.name);
    if(kernel == nullptr)
        throw std::runtime_error("the code object has no kernel " + shortened(found->second.name));
    return {module, kernel};
}

unsigned Device::resident(const void* host_function, unsigned threads, unsigned lds_bytes)
{
    const std::lock_guard lock(mutex_);
    const auto [module, kernel] = this->kernel(host_function);
    Machine machine             = timing_ ? timing_->machine : Machine{};
    machine.lds_bytes           = find_model(module.arch).lds_bytes;
    const unsigned waves        = (threads + lane_count - 1) / lane_count;
    return occupancy(machine, *kernel, waves, kernel->lds_bytes + lds_bytes).workgroups;
}

void Device::launch(const void* host_function, const LaunchShape& shape, void** arguments)
{
    const std::lock_guard lock(mutex_);
    const auto [module, kernel] = this->kernel(host_function);
    launch_locked(module, *kernel, shape, arguments);
}

void Device::launch(const void* host_function,
                    const LaunchShape& shape,
                    std::span<const std::byte> packed)
{
    const std::lock_guard lock(mutex_);
    const auto [module, kernel] = this->kernel(host_function);
    std::vector<void*> arguments;
    uint64_t needed = 0;
    for(const KernelArgument& argument : kernel->arguments)
    {
        if(argument.hidden()) continue;
        needed = uint64_t{argument.offset} + argument.bytes;
        // launches read it alone
        if(needed <= packed.size())
            arguments.push_back(const_cast<std::byte*>(packed.data() + argument.offset));
    }
    if(packed.size() < needed || packed.size() > kernel->argument_bytes)
        throw std::invalid_argument("a launch with " + std::to_string(packed.size()) +
                                    " bytes of packed arguments; those of kernel " +
                                    shortened(kernel->name) + " take " + std::to_string(needed) +
                                    ", its block of arguments has " +
                                    std::to_string(kernel->argument_bytes));
    launch_locked(module, *kernel, shape, arguments.data());
}

void Device::launch_locked(Module& module,
                           const Kernel& kernel,
                           const LaunchShape& shape,
                           void** arguments)
{
    CodeObject& code       = *module.code;
    const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    const uint64_t groups  = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
    if(threads == 0 || groups == 0 || threads > kernel.threads_most)
        throw std::invalid_argument(
            "a launch of " + std::to_string(groups) + " workgroups of " + std::to_string(threads) +
            " work-items; the kernel takes up to " + std::to_string(kernel.threads_most));
    const uint64_t lds = uint64_t{kernel.lds_bytes} + shape.dynamic_lds_bytes;
    if(lds > find_model(module.arch).lds_bytes)
        throw std::invalid_argument("a launch with " + std::to_string(lds) + " bytes of LDS; " +
                                    module.arch + " has " +
                                    std::to_string(find_model(module.arch).lds_bytes));
    if(!options_.omitted.empty()) omit(code, kernel);
    Launch launch;
    launch.kernel             = shortened(kernel.name);
    launch.program            = &code.program();
    launch.memory             = &memory_;
    launch.code_object        = module.elf;
    launch.code_address       = code.code_address();
    launch.kernel_offset      = kernel.offset;
    launch.grid               = shape.grid;
    launch.block              = shape.block;
    launch.instruction_budget = options_.instruction_budget;
    launch.seed               = options_.order_seed;
    launch.reverse            = options_.reverse;
    const Dispatch dispatch(
        kernel, shape, arguments, code.program().architecture(), memory_, options_.undefined());
    if(timing_)
    {
        timings_.push_back(
            json_of(time_launch(*timing_, dispatch, launch, kernel, static_cast<uint32_t>(lds))));
        return;
    }
    if(options_.checks.empty()) return executor().run(dispatch, launch, {});
    CheckSession checks(options_.checks, code.program());
    std::vector<std::unique_ptr<Observer>> observers;
    for(unsigned thread = 0; thread < executor().threads(); ++thread)
        observers.push_back(checks.observer());
    try
    {
        executor().run(dispatch, launch, observers);
    }
    catch(DeviceError& error)
    {
        // often the cause of it
        if(const std::string found = text_of(checks.findings(launch)); !found.empty())
            error.add("\n" + found);
        throw;
    }
    if(const std::string found = text_of(checks.findings(launch)); !found.empty())
        throw CheckFailure(found);
}

Executor& Device::executor()
{
    if(executor_ == nullptr) executor_ = std::make_unique<Executor>(options_.threads);
    return *executor_;
}

void Device::omit(CodeObject& code, const Kernel& kernel)
{
    const std::string& text = options_.omitted;
    const size_t number = text.find(':'), part = text.find(':', number + 1);
    if(number == std::string::npos || part == std::string::npos)
        throw std::invalid_argument("CKPROF_EMULATED_OMIT is no NAME:N:PART: " + text);
    if(kernel.name.find(text.substr(part + 1)) == std::string::npos ||
       !omitted_.insert(&kernel).second)
        return;
    const auto n = static_cast<unsigned>(std::strtoul(text.c_str() + number + 1, nullptr, 10));
    if(code.omit(kernel, std::string_view(text).substr(0, number), n))
        std::fprintf(stderr, "left out: %s\n", text.c_str());
}

// That of the first library; without one, the first there is.
std::string Device::arch() const
{
    const auto readable =
        std::ranges::find_if(modules_, [](const auto& module) { return !module->arch.empty(); });
    return readable == modules_.end() ? models[0].arch : (*readable)->arch;
}

const DeviceModel& Device::model() const { return find_model(arch()); }

uint64_t Device::memory_bytes() const
{ return options_.memory_bytes != 0 ? options_.memory_bytes : model().memory_bytes; }

void* Device::allocate(size_t bytes, bool host_writes)
{
    const std::lock_guard lock(mutex_);
    const uint64_t total = memory_bytes();
    // memory that nothing touches takes none of the host's
    const bool untouched = timing_ || sparse_;
    if(!untouched && bytes > total - std::min(used_, total)) return nullptr;
    std::byte* memory = map_pages(bytes, sparse_);
    if(memory == nullptr) return nullptr;
    if(!untouched) fill_undefined(memory, padded(bytes), options_.undefined());
    // operands of samples are drawn into memory as they are read
    if(host_writes || sparse_ || !options_.notes_undefined())
        memory_.add(reinterpret_cast<uint64_t>(memory), bytes);
    else
        try
        {
            memory_.add_undefined(reinterpret_cast<uint64_t>(memory), bytes);
        }
        catch(const std::bad_alloc&)
        {
            munmap(memory, padded(bytes));
            return nullptr;
        }
    blocks_[memory] = bytes;
    used_ += bytes;
    return memory;
}

bool Device::free(void* memory)
{
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<const std::byte*>(memory));
    if(found == blocks_.end()) return false;
    const size_t bytes = found->second;
    used_ -= bytes;
    memory_.remove(reinterpret_cast<uint64_t>(memory));
    blocks_.erase(found);
    munmap(memory, padded(bytes));
    return true;
}

void Device::set(void* memory, size_t pitch, int value, size_t width, size_t height)
{
    const std::lock_guard lock(mutex_);
    if(timing_)
    {
        timings_.push_back("{\"set_bytes\":" + std::to_string(width * height) + "}");
        return;
    }
    ++sets_;
    for(size_t row = 0; row < height; ++row)
    {
        std::byte* begin = static_cast<std::byte*>(memory) + pitch * row;
        if(sparse_ && value == 0)
            clear(begin, width);
        else
            std::memset(begin, value, width);
        written(begin, width);
    }
}

void Device::begin_timing(TimingOptions options)
{
    const std::lock_guard lock(mutex_);
    timing_ = std::move(options);
    timings_.clear();
}

uint64_t Device::sample(std::vector<double> places)
{
    const std::lock_guard lock(mutex_);
    executor().choose(std::move(places));
    sparse_ = true;
    return std::exchange(sets_, 0);
}

void Device::order(bool reverse, uint64_t seed)
{
    const std::lock_guard lock(mutex_);
    options_.reverse    = reverse;
    options_.order_seed = seed;
}

bool Device::holds(const void* memory, size_t bytes) const
{
    const auto address = reinterpret_cast<uint64_t>(memory);
    const auto exact   = memory_.exact(address);
    return exact && exact->contains(address, bytes);
}

void Device::written(void* memory, size_t bytes)
{
    const auto address = reinterpret_cast<uint64_t>(memory);
    if(DefinedBytes* defined = memory_.definedness(address)) defined->define(address, bytes);
}

void Device::copied(void* to, const void* from, size_t bytes)
{
    const auto target = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
    DefinedBytes* defined         = memory_.definedness(target);
    const DefinedBytes* of_source = memory_.definedness(source);
    if(defined == nullptr) return;
    if(of_source == nullptr)
        defined->define(target, bytes);
    else
        defined->copy(target, *of_source, source, bytes);
}

Device& device()
{
    // never destroyed: libraries take their kernels back when the process ends
    static Device* only = new Device;
    return *only;
}

} // namespace ckprof::emulator
