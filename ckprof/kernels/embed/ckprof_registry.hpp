// SPDX-License-Identifier: MIT
//
// The kernels that a program embeds, found by name or by what they are.
#ifndef CKPROF_REGISTRY_HPP
#define CKPROF_REGISTRY_HPP

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckprof_abi.h"

namespace ckprof {

// One fact about a kernel, e.g. {"tile_m", "128"}; truth values are "true" and "false".
struct kernel_field
{
    std::string_view name;
    std::string_view value;
};

// A kernel and what it is. All members refer to static storage.
struct registered_kernel
{
    const ckprof_kernel* kernel;
    std::string_view arch;
    // every field that distinguishes two kernels
    const kernel_field* fields;
    std::size_t field_count;

    std::string_view name() const { return kernel->name; }

    // The value of a field, empty if the kernel's family does not have it.
    std::string_view field(std::string_view wanted) const
    {
        const auto* found =
            std::find_if(fields, fields + field_count, [&](const kernel_field& one) {
                return one.name == wanted;
            });
        return found == fields + field_count ? std::string_view{} : found->value;
    }
};

// Whether a kernel supports a problem.
inline bool supports(const registered_kernel& kernel, const ckprof_problem& problem)
{
    const ckprof_report nobody = [](void*, const char*, const char*) {};
    ckprof_plan plan           = {};
    return kernel.kernel->is_supported(&problem, &plan, nobody, nullptr) == CKPROF_OK;
}

// Kernels in the order in which they were added. Their key is the architecture with all fields.
class registry
{
public:
    // Throws std::invalid_argument if a kernel with the same key is there already.
    void add(const registered_kernel& kernel)
    {
        const auto [place, is_new] = by_key_.emplace(key_of(kernel), kernels_.size());
        if(!is_new)
            throw std::invalid_argument("two kernels with one key: " + std::string(kernel.name()) +
                                        " and " + std::string(kernels_[place->second].name()));
        kernels_.push_back(kernel);
    }

    std::size_t size() const { return kernels_.size(); }
    auto begin() const { return kernels_.begin(); }
    auto end() const { return kernels_.end(); }

    // The kernel of that name, null if there is none.
    const registered_kernel* find(std::string_view name) const
    {
        const auto found = std::find_if(
            begin(), end(), [&](const registered_kernel& one) { return one.name() == name; });
        return found == end() ? nullptr : &*found;
    }

    // All kernels that have these fields.
    std::vector<const registered_kernel*> select(std::initializer_list<kernel_field> wanted) const
    {
        std::vector<const registered_kernel*> found;
        for(const auto& one : kernels_)
        {
            const bool fits =
                std::all_of(wanted.begin(), wanted.end(), [&](const kernel_field& field) {
                    return one.field(field.name) == field.value;
                });
            if(fits) found.push_back(&one);
        }
        return found;
    }

    // All kernels that support a problem.
    std::vector<const registered_kernel*> supporting(const ckprof_problem& problem) const
    {
        std::vector<const registered_kernel*> found;
        for(const auto& one : kernels_)
            if(supports(one, problem)) found.push_back(&one);
        return found;
    }

private:
    static std::string key_of(const registered_kernel& kernel)
    {
        std::string key(kernel.arch);
        for(std::size_t index = 0; index < kernel.field_count; ++index)
        {
            key += '\n';
            key += kernel.fields[index].name;
            key += '=';
            key += kernel.fields[index].value;
        }
        return key;
    }

    std::vector<registered_kernel> kernels_;
    std::unordered_map<std::string, std::size_t> by_key_;
};

} // namespace ckprof

#endif
