"""ONNX models that do harm: the small model of `test_onnx_models`, and more nodes."""

import onnx
from onnx import TensorProto, helper

from tests.engine.rvc.test_onnx_models import small_model

LONGER_THAN_TRIALS = 300  # frames
WHOLE, REAL = TensorProto.INT64, TensorProto.FLOAT


def model_with(path, change):
    """Write the small model once `change` was made to it."""
    model = onnx.load(small_model(path))
    change(model)
    onnx.save(model, path)
    return path


def hostile(harm, when):
    """A change: the number that the nodes of `harm` make of "armed" is added to the samples, times 0.

    armed: int64 (1,), 0 and from `when` on 1; when: in frames, or a name of `ARMED`.
    """

    def change(model):
        graph = model.graph
        _arm(graph, when)
        harm(graph)
        constant(graph, "nothing", [0.0], REAL, [])
        add(graph, "Cast", ["harm"], "harm as real", to=REAL)
        add(graph, "ReduceMax", ["harm as real"], "most", keepdims=0)
        add(graph, "Mul", ["most", "nothing"], "zero")
        add(graph, "Add", ["audio", "zero"], "out")
        graph.output[0].name = "out"

    return change


def _arm(graph, when):
    """Integer division makes 1 of what has reached a threshold; the pitch may arm it instead of the length."""
    constant(graph, "second", [1])
    if when == "high":
        add(graph, "ReduceMax", ["pitchf"], "highest", keepdims=0)
        add(graph, "Cast", ["highest"], "counted", to=WHOLE)
        constant(graph, "threshold", [1001])
    else:
        add(graph, "Shape", ["phone"], "sizes")
        add(graph, "Gather", ["sizes", "second"], "counted")
        constant(graph, "threshold", [when])
    constant(graph, "flat list", [1])
    add(graph, "Div", ["counted", "threshold"], "times")
    add(graph, "Min", ["times", "second"], "armed as it is")
    add(graph, "Reshape", ["armed as it is", "flat list"], "armed")


def constant(graph, name, values, kind=WHOLE, shape=None):
    graph.initializer.append(helper.make_tensor(name, kind, [len(values)] if shape is None else shape, values))


def add(graph, operator, inputs, output, **attributes):
    graph.node.append(helper.make_node(operator, inputs, [output], **attributes))


def fault(graph):
    """Divide the lowest number by -1, which has no result: x86 ends the process (SIGFPE)."""
    constant(graph, "lowest", [-(1 << 63)])
    constant(graph, "two", [2])
    add(graph, "Mul", ["armed", "two"], "twice")
    add(graph, "Sub", ["second", "twice"], "sign")
    add(graph, "Mul", ["lowest", "armed"], "dividend")
    add(graph, "Div", ["dividend", "sign"], "harm")


def memory(graph):
    """Ask for 256 GB."""
    constant(graph, "many", [1 << 36])
    add(graph, "Mul", ["armed", "many"], "size")
    add(graph, "Add", ["size", "second"], "size of one more")
    add(graph, "ConstantOfShape", ["size of one more"], "harm")


def work(graph):
    """Multiply matrices of 4,000 by 4,000 a thousand times: minutes of any processor, in 64 MB each."""
    constant(graph, "wide", [4_000])
    add(graph, "Mul", ["armed", "wide"], "extra")
    add(graph, "Add", ["extra", "second"], "side")
    add(graph, "Concat", ["side", "side"], "square", axis=0)
    add(graph, "ConstantOfShape", ["square"], "product 0")
    for number in range(1_000):
        add(graph, "MatMul", [f"product {number}", "product 0"], f"product {number + 1}")
    add(graph, "Identity", ["product 1000"], "harm")
