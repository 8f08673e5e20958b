// Reads problems from standard input; prints the choice and all predicted times for each.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "time_model.hpp"

namespace model = ckprof::time_model_fwd;

int main(int count, char** words)
{
    std::vector<ckprof_problem> problems;
    ckprof_problem p = {};
    while(std::scanf("%" SCNd32, &p.ndim) == 1)
    {
        bool good = true;
        for(int64_t* one : {&p.groups, &p.batch, &p.out_channels, &p.in_channels})
            good = good && std::scanf("%" SCNd64, one) == 1;
        for(int64_t* many : {p.filter, p.input, p.strides, p.dilations, p.left_pads, p.right_pads})
            for(int axis = 0; axis < p.ndim; ++axis)
                good = good && std::scanf("%" SCNd64, many + axis) == 1;
        if(!good) return 1;
        problems.push_back(p);
    }
    if(count > 1 && std::strcmp(words[1], "time") == 0)
    {
        const auto begin = std::chrono::steady_clock::now();
        long sum         = 0;
        for(int round = 0; round < 10; ++round)
            for(const auto& problem : problems) sum += model::best_slot(problem);
        const std::chrono::duration<double, std::nano> spent =
            std::chrono::steady_clock::now() - begin;
        std::printf("%.1f %ld\n", spent.count() / (10.0 * problems.size()), sum);
        return 0;
    }
    for(const auto& problem : problems)
    {
        const int slot     = model::best_slot(problem);
        const auto& choice = model::choices[model::first_choice[slot]];
        std::printf("%d %d", choice.kernel, choice.splits);
        double times[model::slot_count];
        model::slot_times(problem, times);
        for(const double time : times) std::printf(" %a", time);
        std::printf("\n");
    }
}
