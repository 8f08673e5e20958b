// SPDX-License-Identifier: MIT
// A direct convolution of NHWGC with weights GKYXC: every kind of argument, LDS, a workspace.
#define KERNEL extern "C" __attribute__((global))
#define LANE __builtin_amdgcn_workitem_id_x()

#if NUMBER == 13
#error this kernel does not compile
#endif

struct padded
{ int value, nothing; };

struct sizes
{ padded N, K, C, in_h, in_w, filter_h, filter_w, out_h, out_w; };

struct window
{
    ELEMENT* output;
    int stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
    float groups;
};

extern __attribute__((shared)) float own[];

KERNEL __attribute__((amdgpu_flat_work_group_size(1, 1024))) void convolution(
    const ELEMENT* input, sizes s, const ELEMENT* weight, unsigned char one, window w, float* sums)
{
    const int G = static_cast<int>(w.groups), K = s.K.value, C = s.C.value;
    const long element = static_cast<long>(__builtin_amdgcn_workgroup_id_x()) * NUMBER + LANE;
    if(element >= static_cast<long>(s.N.value) * s.out_h.value * s.out_w.value * K * G) return;
    const int k = element % K, g = element / K % G, x = element / K / G % s.out_w.value,
              y = element / K / G / s.out_w.value % s.out_h.value,
              n = element / K / G / s.out_w.value / s.out_h.value;
    own[LANE]   = sums[element];
    for(int r = 0; r < s.filter_h.value; ++r)
        for(int t = 0; t < s.filter_w.value; ++t)
        {
            const int h = y * w.stride_h + r * w.dilation_h - w.pad_h,
                      v = x * w.stride_w + t * w.dilation_w - w.pad_w;
            if(h < 0 || h >= s.in_h.value || v < 0 || v >= s.in_w.value) continue;
            for(int c = 0; c < C; ++c)
                own[LANE] +=
                    static_cast<float>(input[(((n * s.in_h.value + h) * s.in_w.value + v) * G + g) *
                                                 static_cast<long>(C) +
                                             c]) *
                    static_cast<float>(
                        weight[(((g * K + k) * s.filter_h.value + r) * s.filter_w.value + t) *
                                   static_cast<long>(C) +
                               c]);
        }
#if NUMBER == 17
    if(x == s.out_w.value - 1) own[LANE] += 1;
#endif
#if NUMBER == 19
    volatile float* forever = own;
    while(forever[LANE] == forever[LANE]) forever[LANE] = 1;
#endif
    w.output[element] = static_cast<ELEMENT>(own[LANE] * one);
}
