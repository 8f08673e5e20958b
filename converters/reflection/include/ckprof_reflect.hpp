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
constexpr std::string_view class_name()
{
    std::string_view text             = __PRETTY_FUNCTION__;
    constexpr std::string_view marker = "Instance = ";
    text.remove_prefix(text.find(marker) + marker.size());
    text             = text.substr(0, text.find('<'));
    const auto colon = text.rfind(':');
    return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

// A device operation, told by the name of its class: a class that nothing needs stays incomplete.
template <typename Instance>
concept DeviceOperation = std::is_class_v<Instance> && class_name<Instance>().starts_with("Device");

} // namespace ckprof

// A tuple of device operations needs no members here. With members, the class of each operation
// would be completed, tensor descriptors and all, which takes most of the time and adds nothing to
// what is printed.
template <typename First, typename... Others>
    requires ckprof::DeviceOperation<First>
class std::tuple<First, Others...>
{};

// The standard library has a specialization for two elements: this one comes before it.
template <typename First, typename Second>
    requires ckprof::DeviceOperation<First>
class std::tuple<First, Second>
{};

namespace ckprof {

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
        std::printf("silent\t%s\n", std::string(class_name<Instance>()).c_str());
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
