// SPDX-License-Identifier: MIT
//
// Prints what objects of the types in a tuple call themselves, by both of their functions, without
// an object of any of them: neither reads a member, and objects would need all kernels to be
// compiled.
#ifndef CKPROF_TEST_BOTH_STRINGS_HPP
#define CKPROF_TEST_BOTH_STRINGS_HPP

#include <cstddef>
#include <cstdio>
#include <tuple>
#include <type_traits>

template <typename Instance>
void print_both()
{
    if constexpr(!std::is_same_v<Instance, std::nullptr_t>)
    {
        alignas(Instance) static std::byte place[sizeof(Instance)];
        const auto* instance = reinterpret_cast<const Instance*>(place);
        std::printf("%s\t%s\n",
                    instance->Instance::GetTypeString().c_str(),
                    instance->Instance::GetInstanceString().c_str());
    }
}

template <typename... Instances>
void print_all(std::tuple<Instances...>*)
{ (print_both<Instances>(), ...); }

#endif
