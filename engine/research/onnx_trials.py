"""Small ONNX models in the form of RVC's, one that works and some that do harm: for tests and measurements."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from engine.rvc.onnx_models import _DIALECTS

LONGER_THAN_TRIALS = 300  # frames
WHOLE, REAL = TensorProto.INT64, TensorProto.FLOAT


def small_model(
    path: Path, dialect: int = 0, width: int = 256, pitched: bool = True, rate: int = 32_000,
    extra: Sequence[str] = (), speakers: int = 0, stated: Mapping[str, object] | None = None,
) -> Path:  # fmt: skip
    """Write a model of samples (1, 1, frames * hop): the mean of each frame's content, and noise drawn or given."""
    names, hop = _DIALECTS[dialect], rate // 100
    real, whole = TensorProto.FLOAT, TensorProto.INT64
    inputs = [(names.content, real, (1, "frames", width)), (names.length, whole, (1,)), (names.speaker, whole, (1,))]
    if pitched:
        inputs += [(names.pitch, whole, (1, "frames")), (names.hertz, real, (1, "frames"))]
    if names.noise:
        inputs.append((names.noise, real, (1, 192, "frames")))
    inputs += [(name, real, (1,)) for name in extra]
    nodes = [
        helper.make_node("ReduceMean", [names.content, "last"], ["mean"]),  # (1, frames, 1)
        helper.make_node("Expand", ["mean", "shape"], ["spread"]),
        helper.make_node("Reshape", ["spread", "flat"], ["held"]),
        helper.make_node("RandomNormalLike", ["held"], ["noise"], scale=0.01),
        helper.make_node("Add", ["held", "noise"], ["audio"]),
    ]
    if speakers:
        nodes[0].output[0] = "plain"
        nodes[1:1] = [
            helper.make_node("Gather", ["table", names.speaker], ["own"]),
            helper.make_node("Add", ["plain", "own"], ["mean"]),
        ]
    constants = {"last": [2], "shape": [1, 1, hop], "flat": [1, 1, -1]}
    stored = [helper.make_tensor(name, whole, [len(values)], values) for name, values in constants.items()]
    if speakers:
        stored.append(helper.make_tensor("table", real, [speakers], [0.1 * number for number in range(speakers)]))
    out = [helper.make_tensor_value_info("audio", real, (1, 1, "samples"))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*one) for one in inputs], out, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    if stated is not None:
        helper.set_model_props(model, {"metadata": json.dumps(stated)})
    onnx.save(model, path)
    return path


def model_with(path: Path, change: Callable[[onnx.ModelProto], None]) -> Path:
    """Write the small model once `change` was made to it."""
    model = onnx.load(small_model(path))
    change(model)
    onnx.save(model, path)
    return path


def hostile(harm: Callable[[onnx.GraphProto], None], when: int | str) -> Callable[[onnx.ModelProto], None]:
    """Return a change: the number that the nodes of `harm` make of "armed" is added to the samples, times 0.

    armed: int64 (1,), 0 and from `when` on 1; when: in frames, or a name of `ARMED`.
    """

    def change(model: onnx.ModelProto) -> None:
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


def _arm(graph: onnx.GraphProto, when: int | str) -> None:
    """Integer division makes 1 of what has reached a threshold; the pitch may arm it instead of the length."""
    constant(graph, "second", [1])
    if when == "high":
        add(graph, "ReduceMax", ["pitchf"], "highest", keepdims=0)
        add(graph, "Cast", ["highest"], "counted", to=WHOLE)
        constant(graph, "threshold", [1001])
    else:
        add(graph, "Shape", ["phone"], "sizes")
        add(graph, "Gather", ["sizes", "second"], "counted")
        constant(graph, "threshold", [int(when)])
    constant(graph, "flat list", [1])
    add(graph, "Div", ["counted", "threshold"], "times")
    add(graph, "Min", ["times", "second"], "armed as it is")
    add(graph, "Reshape", ["armed as it is", "flat list"], "armed")


def constant(
    graph: onnx.GraphProto, name: str, values: Sequence[float], kind: int = WHOLE, shape: Sequence[int] | None = None
) -> None:
    """Add values to a graph."""
    graph.initializer.append(helper.make_tensor(name, kind, [len(values)] if shape is None else shape, values))


def add(graph: onnx.GraphProto, operator: str, inputs: Sequence[str], output: str, **attributes: int) -> None:
    """Add a node to a graph."""
    graph.node.append(helper.make_node(operator, inputs, [output], **attributes))  # type: ignore[arg-type]


def fault(graph: onnx.GraphProto) -> None:
    """Divide the lowest number by -1, which has no result: x86 ends the process (SIGFPE)."""
    constant(graph, "lowest", [-(1 << 63)])
    constant(graph, "two", [2])
    add(graph, "Mul", ["armed", "two"], "twice")
    add(graph, "Sub", ["second", "twice"], "sign")
    add(graph, "Mul", ["lowest", "armed"], "dividend")
    add(graph, "Div", ["dividend", "sign"], "harm")


def memory(graph: onnx.GraphProto) -> None:
    """Ask for 256 GB."""
    constant(graph, "many", [1 << 36])
    add(graph, "Mul", ["armed", "many"], "size")
    add(graph, "Add", ["size", "second"], "size of one more")
    add(graph, "ConstantOfShape", ["size of one more"], "harm")


def work(graph: onnx.GraphProto) -> None:
    """Multiply matrices of 4,000 by 4,000 a thousand times: minutes of any processor, in 64 MB each."""
    constant(graph, "wide", [4_000])
    add(graph, "Mul", ["armed", "wide"], "extra")
    add(graph, "Add", ["extra", "second"], "side")
    add(graph, "Concat", ["side", "side"], "square", axis=0)
    add(graph, "ConstantOfShape", ["square"], "product 0")
    for number in range(1_000):
        add(graph, "MatMul", [f"product {number}", "product 0"], f"product {number + 1}")
    add(graph, "Identity", ["product 1000"], "harm")
