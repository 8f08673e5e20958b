// SPDX-License-Identifier: MIT
//
// Looks a kernel up by the problem that it is to solve, runs it, and checks one element of the
// result.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ckprof_target.h"
#include "register_fwd_kernels.hpp"

namespace {

// 2D forward convolution: 2 images of 12 x 12 with 32 channels, 64 filters of 3 x 3, nothing cut
// off.
ckprof_problem make_problem()
{
    ckprof_problem problem = {};
    problem.ndim           = 2;
    problem.split_k        = 1;
    problem.groups         = 1;
    problem.batch          = 2;
    problem.out_channels   = 64;
    problem.in_channels    = 32;
    for(int axis = 0; axis < 2; ++axis)
    {
        problem.filter[axis]  = 3;
        problem.input[axis]   = 12;
        problem.strides[axis] = problem.dilations[axis] = 1;
        problem.left_pads[axis] = problem.right_pads[axis] = 1;
    }
    return problem;
}

// Memory of the target that ends with its owner.
class tensor
{
public:
    tensor(const ckprof_target& target, std::size_t elements)
        : target_(target),
          elements_(elements),
          memory_(target.allocate(elements * sizeof(float)))
    {
        if(memory_ == nullptr) throw std::runtime_error("the target is out of memory");
    }
    tensor(const tensor&)            = delete;
    tensor& operator=(const tensor&) = delete;
    ~tensor() { target_.release(memory_); }

    void fill(float value)
    {
        const std::vector<float> values(elements_, value);
        check(target_.copy_to_device(memory_, values.data(), elements_ * sizeof(float)));
    }
    std::vector<float> read() const
    {
        std::vector<float> values(elements_);
        check(target_.copy_to_host(values.data(), memory_, elements_ * sizeof(float)));
        return values;
    }
    void* get() const { return memory_; }

private:
    static void check(ckprof_status status)
    {
        if(status != CKPROF_OK) throw std::runtime_error("the target cannot copy");
    }

    const ckprof_target& target_;
    std::size_t elements_;
    void* memory_;
};

int run()
{
    ckprof::registry kernels;
    ckprof::register_fwd_kernels(kernels);

    const ckprof_problem problem            = make_problem();
    const ckprof::registered_kernel* chosen = nullptr;
    const auto supporting                   = kernels.supporting(problem);
    for(const ckprof::registered_kernel* one : supporting)
        if(chosen == nullptr && one->field("dtype") == "fp32") chosen = one;
    std::cout << kernels.size() << " kernels, " << supporting.size() << " support the problem\n";
    if(chosen == nullptr)
    {
        std::cerr << "no fp32 kernel supports the problem\n";
        return 1;
    }
    std::cout << "chosen: " << chosen->name() << '\n';

    // The target is the CPU's model or a GPU; its memory is reached through its table alone.
    const ckprof_target& target = *ckprof_target_table();
    std::string reason(256, '\0');
    if(target.select_device(std::string(chosen->arch).c_str(), 0, reason.data(), reason.size()) !=
       CKPROF_OK)
    {
        std::cerr << "the device cannot be used: " << reason.c_str() << '\n';
        return 1;
    }
    tensor input(target, 2 * 12 * 12 * 32), weight(target, 64 * 3 * 3 * 32),
        output(target, 2 * 12 * 12 * 64);
    input.fill(0.5f);
    weight.fill(0.25f);
    const ckprof_buffers buffers = {input.get(), weight.get(), output.get()};
    double time_ms               = 0;
    if(chosen->kernel->run(&problem, &buffers, 1, &time_ms, reason.data(), reason.size()) !=
       CKPROF_OK)
    {
        std::cerr << "the kernel failed: " << reason.c_str() << '\n';
        return 1;
    }

    // Behind the border, every output is the sum of 3 x 3 x 32 equal products.
    const std::size_t centre = ((0 * 12 + 6) * 12 + 6) * 64;
    const float found = output.read()[centre], expected = 3 * 3 * 32 * 0.5f * 0.25f;
    std::cout << "output in the middle: " << found << ", expected " << expected << '\n';
    std::cout << "timed: " << (time_ms > 0 ? "yes" : "no") << '\n';
    return found == expected ? 0 : 1;
}

} // namespace

int main()
try
{
    return run();
}
catch(const std::exception& error)
{
    std::cerr << error.what() << '\n';
    return 1;
}
