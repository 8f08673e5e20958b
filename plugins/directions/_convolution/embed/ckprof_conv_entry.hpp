#include <array>
#include <string>
#include <vector>

namespace ckprof::entry {

// What a problem asks for beside the convolution; the values follow those of its sizes.
struct elementwise_request
{
    static constexpr int first = 22;

    int number; // of the operation; 0: none
    int d_count;
    std::int64_t channels; // one bit for each further tensor that has an element per channel
    const std::int64_t* parameters;

    explicit elementwise_request(const ckprof_problem& problem)
        : number(static_cast<int>(problem.values[first])),
          d_count(static_cast<int>(problem.values[first + 1])),
          channels(problem.values[first + 2]),
          parameters(problem.values + first + 3)
    {}

    bool per_channel(int d) const { return ((channels >> d) & 1) != 0; }
};

CKPROF_COLD inline std::string elementwise_text(int number, int d_count)
{
    constexpr int known = sizeof(elementwise_names) / sizeof(*elementwise_names);
    if(number == 0) { return "the convolution alone"; }
    const std::string name =
        number > 0 && number < known ? elementwise_names[number] : "another operation";
    if(d_count == 0) { return name; }
    return name + " with " + std::to_string(d_count) +
           (d_count == 1 ? " further tensor" : " further tensors");
}

// Whether a kernel does with its sums what a problem asks for.
CKPROF_COLD inline bool other_elementwise(
    const ckprof_problem& problem, int number, int d_count, ckprof_report report, void* context)
{
    const elementwise_request asked(problem);
    if(asked.number == number && asked.d_count == d_count) { return false; }
    const std::string why = "the kernel computes " + elementwise_text(number, d_count) +
                            ", the problem asks for " +
                            elementwise_text(asked.number, asked.d_count);
    report(context, "elementwise", why.c_str());
    return true;
}

struct plain_convolution : convolution
{
    static bool rejects(const ckprof_problem& problem, ckprof_report report, void* context)
    { return other_elementwise(problem, 0, 0, report, context); }
};

template <typename Launcher>
struct fused_convolution : convolution
{
    using functor = typename Launcher::Elementwise;

    static constexpr int d_count = Launcher::DTensorCount;

    static bool rejects(const ckprof_problem& problem, ckprof_report report, void* context)
    {
        if(other_elementwise(problem, Launcher::ElementwiseNumber, d_count, report, context))
        {
            return true;
        }
        const elementwise_request asked(problem);
        bool rejected = false;
        for(int d = 0; d < d_count; ++d)
        {
            const bool channels = asked.per_channel(d);
            const char* why     = nullptr;
            if(channels && !Launcher::takes_channels(d))
            {
                why = " has an element per channel, the kernel takes one per element of the result";
            }
            else if(!channels && Launcher::needs_channels(d))
            {
                why = " has an element per element of the result, the kernel takes one per channel";
            }
            if(why == nullptr) { continue; }
            report(context, "d-tensor", ("D" + std::to_string(d) + why).c_str());
            rejected = true;
        }
        return rejected;
    }

    template <typename HostArgs>
    static HostArgs make_args(const ckprof_problem& problem,
                              const param& sizes,
                              const ckprof_buffers& buffers,
                              int k_batch)
    {
        const elementwise_request asked(problem);
        std::vector<const void*> d;
        for(int i = 0; i < d_count; ++i) { d.push_back(ckprof_tensor(&buffers, 3 + i)); }
        HostArgs args(sizes,
                      buffers.input,
                      buffers.weight,
                      d,
                      buffers.output,
                      k_batch,
                      Launcher::make_elementwise(asked.parameters));
        for(int i = 0; i < d_count; ++i)
        {
            args.d_per_channel[static_cast<std::size_t>(i)] = asked.per_channel(i);
        }
        return args;
    }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel conv_row(const char* key, const char* name)
{
    if constexpr(requires { typename Launcher::Elementwise; })
    {
        return table_row_of<fused_convolution<Launcher>, Launcher, HostArgs>(key, name);
    }
    else
    {
        return table_row_of<plain_convolution, Launcher, HostArgs>(key, name);
    }
}

} // namespace ckprof::entry
