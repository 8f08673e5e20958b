"""What time models see of convolutions, for tests without plugins."""

from ckprof_plugins.directions._convolution import gemm_sizes
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning.time_model.formula import sizes_of_product
from ckprof_plugins.tuning.time_model.program import form_of

#: number of spatial dimensions -> form of convolutions
FORMS = {ndim: form_of(problem) for ndim, problem in default_problems().items()}


def sizes_from(function, element_bytes=2):
    """Return what makes sizes of a convolution.

    :param function: m, n, k of a problem, then the lengths of runs if there are any.
    """

    def sizes(problem):
        return sizes_of_product(gemm_sizes.convolution_product(problem, element_bytes, function(problem)))

    return sizes


#: of forward convolutions of two-byte types, without runs
forward_sizes = sizes_from(gemm_sizes.forward_sizes)
#: with runs
forward_with_runs = sizes_from(
    lambda problem: (*gemm_sizes.forward_sizes(problem), *gemm_sizes.forward_runs(problem))
)
backward_weight_with_runs = sizes_from(
    lambda problem: (*gemm_sizes.backward_weight_sizes(problem), *gemm_sizes.backward_weight_runs(problem))
)
