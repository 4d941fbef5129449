"""Operators of ONNX that a model of RVC may have: no loops, no functions, nothing that leaves the model."""

_NAMES = (
    # numbers, one by one
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BatchNormalization Cast CastLike Ceil Celu Clip Cos Cosh Div Dropout "
    "Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less "
    "LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh "
    "Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor "
    # over an axis
    "ArgMax ArgMin CumSum LogSoftmax ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare Softmax GroupNormalization InstanceNormalization LayerNormalization "
    "LpNormalization RMSNormalization "
    # shapes and places
    "Concat Constant ConstantOfShape DepthToSpace Expand Flatten Gather GatherElements GatherND NonZero OneHot Pad "
    "Range Reshape Resize Scatter ScatterElements ScatterND Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose "
    "Trilu Unsqueeze Upsample "
    # layers, also in 8 bits
    "AveragePool Conv ConvInteger ConvTranspose DequantizeLinear DynamicQuantizeLinear Einsum Gemm GlobalAveragePool "
    "MatMul MatMulInteger MaxPool QuantizeLinear "
    # noise; and the branch that PyTorch writes where it cannot tell whether an axis has one place
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike If"
)
KNOWN = frozenset(_NAMES.split())
RANDOM = ("Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
STRIDING = ("Conv", "ConvInteger")  # fewer places come out than go in
UPSAMPLING = "ConvTranspose"
WEIGHTED = (*STRIDING, UPSAMPLING, "Gemm", "MatMul", "MatMulInteger", "Einsum")  # multiply by all of their weights
RENAMING = ("Identity", "Cast", "DequantizeLinear", "Transpose", "Reshape")  # the same weights by another name
