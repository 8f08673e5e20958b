// SPDX-License-Identifier: MIT
//
// Stands for the profiler's functions that need a GPU: says as JSON what they were called with.
#ifndef CKPROF_TEST_CALLS_HPP
#define CKPROF_TEST_CALLS_HPP

#include <iostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ck/library/utility/convolution_parameter.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"
#include "ck/utility/data_type.hpp"

namespace ckprof_test {

template <typename Type>
constexpr const char* type_name()
{
    if constexpr(std::is_same_v<Type, float>)
        return "fp32";
    else if constexpr(std::is_same_v<Type, ck::half_t>)
        return "fp16";
    else if constexpr(std::is_same_v<Type, ck::bhalf_t>)
        return "bf16";
    else if constexpr(std::is_same_v<Type, int8_t>)
        return "int8";
    else if constexpr(std::is_same_v<Type, ck::f8_t>)
        return "fp8";
    else if constexpr(std::is_same_v<Type, ck::bf8_t>)
        return "bf8";
    else
    {
        static_assert(std::is_same_v<Type, ck::tf32_t>);
        return "tf32";
    }
}

inline void print_list(const char* name, const std::vector<ck::long_index_t>& values)
{
    std::cout << ", \"" << name << "\": [";
    for(std::size_t i = 0; i < values.size(); ++i) std::cout << (i ? ", " : "") << values[i];
    std::cout << "]";
}

struct Switches
{ int verify, init, log, time; };

template <typename... Layout>
void print_layouts(std::tuple<Layout...>*)
{
    const char* between = "";
    std::cout << "\"layouts\": [";
    ((std::cout << between << '"' << Layout::name << '"', between = ", "), ...);
    std::cout << "]";
}

template <typename... Type>
void print_types(const char* name, std::tuple<Type...>*)
{
    const char* between = "";
    std::cout << ", \"" << name << "\": [";
    ((std::cout << between << '"' << type_name<Type>() << '"', between = ", "), ...);
    std::cout << "]";
}

// What template arguments say: layouts and types of input, weight and output, types of products.
template <ck::index_t NDimSpatial, typename Layouts, typename Types, typename Compute>
void print_kind()
{
    std::cout << "{\"ndim\": " << NDimSpatial << ", ";
    print_layouts(static_cast<Layouts*>(nullptr));
    print_types("types", static_cast<Types*>(nullptr));
    print_types("compute", static_cast<Compute*>(nullptr));
}

inline bool print_rest(const Switches& switches,
                       const ck::utils::conv::ConvParam& param,
                       const char* operation         = "",
                       const std::string& split_k    = "",
                       unsigned long bytes_per_index = 4)
{
    std::cout << ", \"switches\": [" << switches.verify << ", " << switches.init << ", "
              << switches.log << ", " << switches.time << "]";
    std::cout << ", \"element_op\": \"" << operation << "\", \"split_k\": \"" << split_k
              << "\", \"index_bytes\": " << bytes_per_index;
    print_list("sizes", {param.G_, param.N_, param.K_, param.C_});
    print_list("filter", param.filter_spatial_lengths_);
    print_list("input", param.input_spatial_lengths_);
    print_list("strides", param.conv_filter_strides_);
    print_list("dilations", param.conv_filter_dilations_);
    print_list("left_pads", param.input_left_pads_);
    print_list("right_pads", param.input_right_pads_);
    print_list("output", param.output_spatial_lengths_);
    std::cout << "}" << std::endl;
    return true;
}

} // namespace ckprof_test

#endif
