"""Values of the parameters of element-wise operations that change results: most defaults change nothing."""

_SCALES = "scale_in=0.5,scale_wei=-2,scale_out=3"
#: operation -> values, of every operation that has parameters
SETTINGS = {
    "Clamp": "floor=-0.5,ceiling=1.25",
    "AddClamp": "floor=-0.5,ceiling=1.25",
    "BiasNormalizeInInferClamp": "floor=-0.5,ceiling=1.25,epsilon=0.01",
    "Scale": "scale=-0.75",
    "Bilinear": "alpha=0.5,beta=-2",
    "ScaleAddScaleAddRelu": "alpha1=0.5,alpha2=-2",
    "ConvScale": "scale_in=0.5,scale_wei=2,scale_out=3",
    "ConvScaleRelu": _SCALES,
    "ConvScaleAdd": _SCALES,
    "ConvInvscale": _SCALES,
    "DynamicUnaryOp": "function=Logistic,alpha=0.5",
    "ScaleAdd": "scale_in=0.3,scale_wei=-1.7",
}


def with_settings(operation):
    """Return what asks for an operation with these values, as problems name it."""
    return f"{operation},{SETTINGS[operation]}" if operation in SETTINGS else operation
