"""Read the graph of an ONNX model without running it: which operators it uses, and how much they multiply.

Only the wire format of protocol buffers is read, with the few fields of onnx.proto that are named below. Weights are
skipped, so a model of 100 MB takes some milliseconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from engine.files import shown_name
from engine.rvc.configuration import FRAME_RATE
from engine.rvc.operations import refuse_much_work
from engine.rvc.sandbox import ModelFileError
from engine.texts import tr

_DOMAINS = ("", "ai.onnx")
_DEEPEST = 8  # graphs within graphs
_LONGEST_TAG = 1 << 32

# numbers of fields in onnx.proto
_MODEL_GRAPH, _MODEL_TRAINING, _MODEL_FUNCTIONS = 7, 20, 25
_GRAPH_NODE, _GRAPH_WEIGHT, _GRAPH_SPARSE = 1, 5, 15
_NODE_INPUT, _NODE_OUTPUT, _NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 4, 5, 7
_NAME, _TENSOR, _GRAPH, _INTS, _TENSORS, _GRAPHS, _SPARSE, _SPARSES = 1, 5, 6, 8, 10, 11, 22, 23
_TENSOR_SIZES, _TENSOR_NAME, _TENSOR_EXTERNAL, _TENSOR_PLACE = 1, 8, 13, 14
# operators that a model of RVC may have: no loops, no functions, nothing that leaves the model
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
_KNOWN = frozenset(_NAMES.split())
_RANDOM = ("Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_STRIDING = ("Conv", "ConvInteger")  # fewer places come out than go in
_UPSAMPLING = "ConvTranspose"
_WEIGHTED = (*_STRIDING, _UPSAMPLING, "Gemm", "MatMul", "MatMulInteger", "Einsum")  # multiply by all of their weights
_RENAMING = ("Identity", "Cast", "DequantizeLinear", "Transpose", "Reshape")  # the same weights by another name


def inspect_graph(path: Path) -> "Graph":
    """Read the graph of an ONNX model.

    Raises ModelFileError for operators that no model of RVC needs, for what is not within the file, and for networks
    that multiply far more than any model of RVC; ValueError for a file that is no ONNX model.
    """
    graph = Graph(shown_name(path))
    graph.read_model(memoryview(path.read_bytes()))
    refuse_much_work(shown_name(path), graph.multiplications_per_s)
    return graph


@dataclass
class Graph:
    """What is known of a graph, and of those within it."""

    name: str  # of its file
    draws: bool = False  # whether it has random nodes
    multiplications_per_s: float = 0.0  # of its convolutions and matrices, with the strides they state
    _sizes: dict[str, list[int]] = field(default_factory=dict)  # of weights
    _rates: dict[str, float] = field(default_factory=dict)  # of values, in places per second

    def read_model(self, content: memoryview) -> None:
        """Read a whole file."""
        graphs = []
        for number, value in _fields(content):
            if number == _MODEL_FUNCTIONS:
                raise self._refusal(tr("functions of its own"))
            if number == _MODEL_TRAINING:
                raise self._refusal(tr("steps of a training"))
            if number == _MODEL_GRAPH:
                graphs.append(_bytes(value))
        if not graphs:
            raise ValueError("no graph")
        for graph in graphs:
            self._read_graph(graph, 0)

    def _read_graph(self, content: memoryview, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._refusal(tr("graphs within graphs without end"))
        nodes = []
        for number, value in _fields(content):
            if number == _GRAPH_SPARSE:
                raise self._refusal(tr("sparse weights"))
            if number == _GRAPH_WEIGHT:
                self._read_weight(_bytes(value))
            if number == _GRAPH_NODE:
                nodes.append(_bytes(value))
        for node in nodes:
            self._read_node(node, depth)

    def _read_weight(self, content: memoryview) -> list[int]:
        name, sizes = "", list[int]()
        for number, value in _fields(content):
            if number == _TENSOR_EXTERNAL or (number == _TENSOR_PLACE and value != 0):
                raise self._refusal(tr("weights in another file"))
            if number == _TENSOR_SIZES:
                sizes += _whole_numbers(value)
            if number == _TENSOR_NAME:
                name = _text(value)
        self._sizes[name] = sizes
        return sizes

    def _read_node(self, content: memoryview, depth: int) -> None:
        inputs, outputs, operators = list[str](), list[str](), list[str]()
        strides = [1]
        for number, value in _fields(content):
            if number == _NODE_INPUT:
                inputs.append(_text(value))
            if number == _NODE_OUTPUT:
                outputs.append(_text(value))
            if number == _NODE_OPERATOR:
                operators.append(_text(value))
            if number == _NODE_DOMAIN and (domain := _text(value)) not in _DOMAINS:
                raise self._refusal(tr("operators of {domain}", domain=_shown(domain)))
            if number == _NODE_ATTRIBUTE:
                strides = self._read_attribute(_bytes(value), outputs, depth) or strides
        for operator in operators:
            if operator not in _KNOWN:
                raise self._refusal(tr("the operator {operator}", operator=_shown(operator)))
            self.draws |= operator in _RANDOM
            self._count(operator, inputs, outputs, prod(strides))

    def _read_attribute(self, content: memoryview, outputs: list[str], depth: int) -> list[int]:
        """Return the strides, if the attribute is that; and look into tensors and graphs."""
        name, numbers = "", list[int]()
        for number, value in _fields(content):
            if number == _NAME:
                name = _text(value)
            if number in (_SPARSE, _SPARSES):
                raise self._refusal(tr("sparse weights"))
            if number in (_TENSOR, _TENSORS):
                sizes = self._read_weight(_bytes(value))
                self._sizes |= dict.fromkeys(outputs, sizes)  # of a Constant
            if number in (_GRAPH, _GRAPHS):
                self._read_graph(_bytes(value), depth + 1)
            if number == _INTS:
                numbers += _whole_numbers(value)
        return [max(1, one) for one in numbers] if name == "strides" else []

    def _count(self, operator: str, inputs: list[str], outputs: list[str], stride: int) -> None:
        """Add the multiplications of a node, and note how many places per second come out of it."""
        moving = [self._rates.get(name, FRAME_RATE) for name in inputs if name not in self._sizes]
        rate = max(moving, default=float(FRAME_RATE))
        if operator in _STRIDING:
            rate /= stride
        weights = max((prod(self._sizes[name]) for name in inputs[:3] if name in self._sizes), default=0)
        if operator in _WEIGHTED:
            self.multiplications_per_s += rate * weights
        if operator == _UPSAMPLING:
            rate *= stride
        if operator in _RENAMING and inputs[0] in self._sizes:
            self._sizes |= dict.fromkeys(outputs, self._sizes[inputs[0]])
        self._rates |= dict.fromkeys(outputs, rate)

    def _refusal(self, found: str) -> ModelFileError:
        text = tr(
            '"{name}" has {found}, which no RVC model needs: it was not opened. Import the .pth instead.',
            name=self.name,
            found=found,
        )
        return ModelFileError(text, "unsafe")


# ---- the wire format: https://protobuf.dev/programming-guides/encoding


def _fields(content: memoryview) -> Iterator[tuple[int, "int | memoryview"]]:
    """Yield number and value of each field of a message. Raises ValueError."""
    at, end = 0, len(content)
    while at < end:
        tag, at = _varint(content, at)
        if tag >= _LONGEST_TAG:
            raise ValueError("a tag of more than 32 bits")
        match tag & 7:
            case 0:
                value, at = _varint(content, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(content, at)
                if length > end - at:
                    raise ValueError("cut off")
                yield tag >> 3, content[at : at + length]
                at += length
            case 1 | 5 as kind:
                length = 8 if kind == 1 else 4
                yield tag >> 3, content[at : at + length]
                at += length
            case _:
                raise ValueError("groups")


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        found |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return found, at
    raise ValueError("a number without end")


def _whole_numbers(value: "int | memoryview") -> list[int]:
    """Return a field of whole numbers, one by one or packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(number)
    return found


def _bytes(value: "int | memoryview") -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number in place of a message")
    return value


def _text(value: "int | memoryview") -> str:
    return str(_bytes(value), "utf-8", "replace")


def _shown(name: str) -> str:
    return "".join(one for one in name if one.isprintable())[:40]
