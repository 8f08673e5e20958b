/* SPDX-License-Identifier: MIT
 *
 * A program as a framework would write it: loads a kernel library, lists, asks, runs.
 * Arguments: library, kernel name, file with input and weight, file for the output.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ckprof_conv_api.h"

#define CHECK(condition)                                                                           \
    do                                                                                             \
    {                                                                                              \
        if(!(condition))                                                                           \
        {                                                                                          \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while(0)

static void* library;

static void* symbol(const char* name)
{
    void* found = dlsym(library, name);
    if(found == NULL)
    {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

#define FUNCTION(name)                                                                             \
    __typeof__(&name) p_##name;                                                                    \
    {                                                                                              \
        void* address = symbol(#name);                                                             \
        memcpy(&p_##name, &address, sizeof(void*));                                                \
    }

int main(int argc, char** argv)
{
    CHECK(argc == 5);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if(library == NULL)
    {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    FUNCTION(conv_dispatcher_init)
    FUNCTION(conv_dispatcher_cleanup)
    FUNCTION(conv_dispatcher_version)
    FUNCTION(conv_dispatcher_has_kernels)
    FUNCTION(conv_dispatcher_has_bwd_data)
    FUNCTION(conv_dispatcher_has_bwd_weight)
    FUNCTION(conv_dispatcher_get_kernel_count)
    FUNCTION(conv_dispatcher_get_kernel_name)
    FUNCTION(conv_dispatcher_is_supported)
    FUNCTION(conv_dispatcher_select_kernel)
    FUNCTION(conv_dispatcher_run)
    FUNCTION(ckprof_conv_select_name)
    FUNCTION(ckprof_conv_set_timing)
    FUNCTION(ckprof_conv_is_supported)
    FUNCTION(ckprof_conv_run)
    FUNCTION(ckprof_conv_find_kernel)

    CHECK(strcmp(p_conv_dispatcher_version(), "2.0.0") == 0);
    CHECK(sizeof(ConvProblemC) == 21 * sizeof(int));
    CHECK(p_conv_dispatcher_has_kernels() == 1);
    CHECK(p_conv_dispatcher_has_bwd_data() == 0 && p_conv_dispatcher_has_bwd_weight() == 0);
    char name[512];
    const int count = p_conv_dispatcher_get_kernel_count();
    for(int index = 0; index < count; ++index)
    {
        CHECK(p_conv_dispatcher_get_kernel_name(index, name, sizeof(name)) == 0);
        printf("%s\n", name);
    }
    CHECK(p_conv_dispatcher_get_kernel_name(count, name, sizeof(name)) == -1);
    CHECK(p_conv_dispatcher_get_kernel_name(0, NULL, 5) == -1);
    CHECK(p_conv_dispatcher_init() == 0);

    /* 2 groups, 3 channels in and 4 out per group */
    ConvProblemC problem = {.N = 2, .G = 2, .C = 6, .K = 8, .split_k = 1};
    problem.input_d = problem.filter_z = problem.stride_d = problem.dilation_d = 1;
    problem.input_h                                                            = 9;
    problem.input_w                                                            = 7;
    problem.filter_y = problem.filter_x = 3;
    problem.stride_h                    = 2;
    problem.stride_w                    = 1;
    problem.dilation_h = problem.dilation_w = 1;
    problem.pad_h = problem.pad_w = 1;
    const size_t input_size       = 2 * 9 * 7 * 6;
    const size_t weight_size      = 8 * 3 * 3 * 3;
    const size_t output_size      = 2 * 5 * 7 * 8;
    float* input                  = malloc(input_size * sizeof(float));
    float* weight                 = malloc(weight_size * sizeof(float));
    float* output                 = calloc(output_size, sizeof(float));
    FILE* file                    = fopen(argv[3], "rb");
    CHECK(file != NULL && fread(input, sizeof(float), input_size, file) == input_size);
    CHECK(fread(weight, sizeof(float), weight_size, file) == weight_size);
    fclose(file);

    CHECK(p_ckprof_conv_select_name("no such kernel") == -2);
    const int index = p_ckprof_conv_find_kernel(argv[2]);
    CHECK(index >= 0 && p_ckprof_conv_select_name(argv[2]) == index);
    CHECK(p_conv_dispatcher_is_supported(&problem));
    CHECK(p_conv_dispatcher_select_kernel(&problem, name, sizeof(name)) == 0);
    CHECK(strcmp(name, argv[2]) == 0);

    /* return codes */
    CHECK(p_conv_dispatcher_run(NULL, weight, output, &problem, NULL) == -1);
    ConvProblemC wrong = problem;
    wrong.direction    = 7;
    CHECK(p_conv_dispatcher_run(input, weight, output, &wrong, NULL) == -1);
    wrong.direction = 2;
    CHECK(p_conv_dispatcher_run(input, weight, output, &wrong, NULL) == -2);
    CHECK(!p_conv_dispatcher_is_supported(&wrong));
    wrong         = problem;
    wrong.input_d = wrong.filter_z = 2;
    CHECK(p_conv_dispatcher_run(input, weight, output, &wrong, NULL) == -2);
    wrong   = problem;
    wrong.C = 7;
    CHECK(p_conv_dispatcher_run(input, weight, output, &wrong, NULL) == -1);
    wrong         = problem;
    wrong.split_k = 2;
    CHECK(p_conv_dispatcher_run(input, weight, output, &wrong, NULL) == -3);

    const ckprof_conv_timing timing = {.warmup = 1, .repeat = 3, .median = 1};
    CHECK(p_ckprof_conv_set_timing(&timing) == 0);
    CHECK(p_conv_dispatcher_run(input, weight, output, &problem, NULL) > 0);
    file = fopen(argv[4], "wb");
    CHECK(file != NULL && fwrite(output, sizeof(float), output_size, file) == output_size);
    fclose(file);

    /* the same by number, with K and C per group; and pads that only that can say */
    ckprof_problem same = {.ndim = 2, .split_k = 1, .groups = 2, .batch = 2};
    same.out_channels   = 4;
    same.in_channels    = 3;
    for(int axis = 0; axis < 2; ++axis)
    {
        same.filter[axis]    = 3;
        same.input[axis]     = axis == 0 ? 9 : 7;
        same.strides[axis]   = axis == 0 ? 2 : 1;
        same.dilations[axis] = same.left_pads[axis] = same.right_pads[axis] = 1;
    }
    char reason[256];
    float* again                 = calloc(output_size, sizeof(float));
    const ckprof_buffers buffers = {input, weight, again};
    CHECK(p_ckprof_conv_is_supported(index, &same, reason, sizeof(reason)) == 1);
    CHECK(p_ckprof_conv_run(index, &same, &buffers, NULL, reason, sizeof(reason)) > 0);
    CHECK(memcmp(output, again, output_size * sizeof(float)) == 0);
    same.left_pads[0]  = 2;
    same.right_pads[0] = 0;
    CHECK(p_ckprof_conv_run(index, &same, &buffers, NULL, reason, sizeof(reason)) > 0);
    CHECK(memcmp(output, again, output_size * sizeof(float)) != 0);
    same.split_k = 2;
    CHECK(p_ckprof_conv_is_supported(index, &same, reason, sizeof(reason)) == 0);
    CHECK(strstr(reason, "split") != NULL);
    CHECK(p_ckprof_conv_is_supported(-1, &same, reason, sizeof(reason)) == -1);
    CHECK(p_conv_dispatcher_cleanup() == 0);
    free(input);
    free(weight);
    free(output);
    free(again);
    return 0;
}
