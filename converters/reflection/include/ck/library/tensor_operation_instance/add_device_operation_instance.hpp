// SPDX-License-Identifier: MIT
//
// Stands in front of the library's header of this name: its functions hand over their tuples of
// instances as ever, and each tuple is printed instead of being filled with objects. Only types are
// needed for that, so neither kernels nor launches are compiled.
#ifndef CKPROF_REFLECT_ADD_DEVICE_OPERATION_INSTANCE_HPP
#define CKPROF_REFLECT_ADD_DEVICE_OPERATION_INSTANCE_HPP

#include <memory>
#include <vector>

#include "ck/utility/functional2.hpp"
#include "ckprof_reflect.hpp"

#define add_device_operation_instances(instances, ...)                                             \
    (::ckprof::Printer<std::remove_cvref_t<decltype(__VA_ARGS__)>>::print(__func__))

#endif
