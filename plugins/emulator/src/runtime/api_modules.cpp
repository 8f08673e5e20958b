// SPDX-License-Identifier: MIT
// Modules: code objects that programs load themselves, and kernels of them by name.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/api.hpp"
#include "runtime/device.hpp"

using namespace ckprof::emulator;

namespace {

// Of dynamic LDS, unless the program has asked for more.
constexpr uint64_t lds_unless_set = 65536;

Module* module_of(hipModule_t handle) { return reinterpret_cast<Module*>(handle); }
const Function* function_of(hipFunction_t handle)
{ return reinterpret_cast<const Function*>(handle); }

hipError_t load(hipModule_t* module, const void* image, size_t bytes, const std::string& from)
{
    try
    {
        *module = reinterpret_cast<hipModule_t>(device().load_module(image, bytes));
        return hipSuccess;
    }
    catch(const WrongArchitecture& error)
    {
        return remember(hipErrorNoBinaryForGpu, from + error.what());
    }
    catch(const std::bad_alloc&)
    {
        return remember(hipErrorOutOfMemory, "memory of the host");
    }
    catch(const std::exception& error)
    {
        return remember(hipErrorInvalidImage, from + error.what());
    }
}

// What a program hands over in `extra`: pairs of a key and a value. Throws std::invalid_argument.
std::span<const std::byte> packed_arguments(void** extra)
{
    const void* begin = nullptr;
    std::optional<size_t> bytes;
    for(; *extra != HIP_LAUNCH_PARAM_END; extra += 2)
    {
        if(*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            begin = extra[1];
        else if(*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
            bytes = *static_cast<const size_t*>(extra[1]);
        else
            throw std::invalid_argument(
                "the launch's extra list has an entry that is neither "
                "HIP_LAUNCH_PARAM_BUFFER_POINTER "
                "nor HIP_LAUNCH_PARAM_BUFFER_SIZE; HIP_LAUNCH_PARAM_END ends it");
    }
    if(begin == nullptr || !bytes)
        throw std::invalid_argument("the launch's extra list names no buffer of arguments, or not "
                                    "how many bytes it has");
    return {static_cast<const std::byte*>(begin), *bytes};
}

} // namespace

hipError_t hipModuleLoadData(hipModule_t* module, const void* image)
{
    CKPROF_ENTER();
    if(module == nullptr || image == nullptr) return remember(hipErrorInvalidValue);
    return load(module, image, SIZE_MAX, "");
}

hipError_t hipModuleLoad(hipModule_t* module, const char* path)
{
    CKPROF_ENTER();
    if(module == nullptr || path == nullptr) return remember(hipErrorInvalidValue);
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
    if(!file) return remember(hipErrorFileNotFound, std::string(path) + " cannot be read");
    return load(module, image.data(), image.size(), std::string(path) + ": ");
}

hipError_t hipModuleUnload(hipModule_t module)
{
    CKPROF_ENTER();
    if(!device().is_loaded(module_of(module)))
        return remember(hipErrorInvalidHandle, "no such module is loaded");
    device().remove_module(module_of(module));
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name)
{
    CKPROF_ENTER();
    if(function == nullptr || name == nullptr) return remember(hipErrorInvalidValue);
    if(!device().is_loaded(module_of(module)))
        return remember(hipErrorInvalidHandle, "no such module is loaded");
    Function* found = device().find_function(module_of(module), name);
    if(found == nullptr)
        return remember(hipErrorNotFound, "the module has no kernel " + std::string(name));
    *function = reinterpret_cast<hipFunction_t>(found);
    return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value)
{
    CKPROF_ENTER();
    if(attribute != hipFuncAttributeMaxDynamicSharedMemorySize)
        return remember(hipErrorInvalidValue, "an attribute that the emulated device lacks");
    try
    {
        device().set_dynamic_lds(function, value);
        return hipSuccess;
    }
    catch(const std::invalid_argument& error)
    {
        return remember(hipErrorInvalidValue, error.what());
    }
    catch(const std::exception& error)
    {
        return remember(hipErrorInvalidDeviceFunction, error.what());
    }
}

hipError_t hipModuleLaunchKernel(hipFunction_t handle,
                                 unsigned grid_x,
                                 unsigned grid_y,
                                 unsigned grid_z,
                                 unsigned block_x,
                                 unsigned block_y,
                                 unsigned block_z,
                                 unsigned lds_bytes,
                                 hipStream_t,
                                 void** arguments,
                                 void** extra)
{
    CKPROF_ENTER();
    const Function* function = function_of(handle);
    if(!device().is_loaded(function))
        return remember(hipErrorInvalidHandle, "no kernel of a module that is loaded");
    if(arguments != nullptr && extra != nullptr)
        return remember(hipErrorInvalidValue, "a launch with arguments in two forms");
    const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, lds_bytes};
    const auto most = device().dynamic_lds_most(function);
    if(lds_bytes > most.value_or(lds_unless_set))
        return remember(hipErrorInvalidValue,
                        "a launch with " + std::to_string(lds_bytes) + " bytes of dynamic LDS; " +
                            (most ? "the attribute of the kernel is " : "more than ") +
                            std::to_string(most.value_or(lds_unless_set)) +
                            (most ? "" : " take hipFuncSetAttribute"));
    return launched([&] {
        if(arguments != nullptr)
            device().launch(function, shape, arguments);
        else
            device().launch(function,
                            shape,
                            extra != nullptr ? packed_arguments(extra)
                                             : std::span<const std::byte>{});
    });
}
