// SPDX-License-Identifier: MIT
//
// Prints what CK Builder says of the types in a tuple, without an object of any of them.
#ifndef CKPROF_REFLECT_HPP
#define CKPROF_REFLECT_HPP

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace ck_tile::reflect {
template <typename Instance>
struct InstanceTraits;
}

namespace ckprof {

// Whether the tree's Builder has a description of a device operation.
template <typename Instance>
concept Reflected = requires {
    {
        ck_tile::reflect::InstanceTraits<Instance>::instance_string()
    } -> std::convertible_to<std::string>;
};

// The name of a class template without its arguments and namespaces.
template <typename Instance>
std::string class_name()
{
    std::string_view text             = __PRETTY_FUNCTION__;
    constexpr std::string_view marker = "Instance = ";
    text.remove_prefix(text.find(marker) + marker.size());
    text             = text.substr(0, text.find('<'));
    const auto colon = text.rfind(':');
    return std::string(colon == std::string_view::npos ? text : text.substr(colon + 1));
}

// One line: what it is, a tab, the string or the class.
template <typename Instance>
void print_instance()
{
    // the library ends some of its tuples with a null pointer
    if constexpr(std::is_same_v<Instance, std::nullptr_t>)
        return;
    else if constexpr(Reflected<Instance>)
        std::printf("string\t%s\n",
                    ck_tile::reflect::InstanceTraits<Instance>::instance_string().c_str());
    else
        std::printf("silent\t%s\n", class_name<Instance>().c_str());
}

template <typename Tuple>
struct Printer;

template <typename... Instances>
struct Printer<std::tuple<Instances...>>
{
    static void print(const char* function)
    {
        std::printf("tuple\t%s\n", function);
        (print_instance<Instances>(), ...);
    }
};

} // namespace ckprof

#endif
