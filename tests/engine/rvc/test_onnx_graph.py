import random
from contextlib import suppress

import onnx
import pytest
from onnx import TensorProto, helper

from engine.research.onnx_trials import REAL, WHOLE, add, constant, model_with
from engine.rvc.onnx_graph import inspect_graph
from engine.rvc.sandbox import ModelFileError


def loop(model):
    """Add nothing to the samples as often as can be counted."""
    flag, count = (helper.make_tensor_value_info(name, kind, []) for name, kind in (("go", 9), ("i", WHOLE)))
    node, on = helper.make_node("Identity", ["go"], ["on"]), helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    body = helper.make_graph([node], "body", [count, flag], [on])
    constant(model.graph, "often", [(1 << 63) - 1], WHOLE, [])
    add(model.graph, "Loop", ["often", ""], "", body=body)


def branch(inner):
    """An If whose branches hold one node."""

    def change(model):
        out = [helper.make_tensor_value_info("branched", REAL, None)]
        bodies = [helper.make_graph([inner()], name, [], out) for name in ("then", "else")]
        constant(model.graph, "condition", [True], TensorProto.BOOL, [])
        add(model.graph, "If", ["condition"], "either", then_branch=bodies[0], else_branch=bodies[1])

    return change


def function(model):
    made = helper.make_function("mine", "Twice", ["x"], ["y"], [helper.make_node("Add", ["x", "x"], ["y"])], [])
    model.functions.append(made)
    model.opset_import.append(helper.make_opsetid("mine", 1))


def elsewhere(tensor):
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")
    return tensor


def external_weight(model):
    constant(model.graph, "secrets", [1.0] * 4, REAL)
    elsewhere(model.graph.initializer[-1])


def external_constant(model):
    add(model.graph, "Constant", [], "secrets", value=elsewhere(helper.make_tensor("secrets", REAL, [4], [0.0] * 4)))


def sparse(model):
    values, places = helper.make_tensor("s", REAL, [1], [1.0]), helper.make_tensor("p", WHOLE, [1], [7])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [1 << 40]))


def constant_elsewhere():
    tensor = elsewhere(helper.make_tensor("s", REAL, [1], [0.0]))
    return helper.make_node("Constant", [], ["branched"], value=tensor)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (loop, "the operator Loop"),
        (branch(lambda: helper.make_node("Scan", [], ["branched"])), "the operator Scan"),
        (lambda model: add(model.graph, "RegexFullMatch", ["x"], "y", pattern="(a+)+"), "the operator RegexFullMatch"),
        (lambda model: add(model.graph, "Inverse", ["x"], "y", domain="com.microsoft"), "operators of com.microsoft"),
        *((lambda model: model.training_info.add(), "steps of a training"), (function, "functions of its own")),
        *((external_weight, "weights in another file"), (external_constant, "weights in another file")),
        *((branch(constant_elsewhere), "weights in another file"), (sparse, "sparse weights")),
    ],
)
def test_inspect_graph_refuses_by_name_what_no_model_of_rvc_needs(tmp_path, change, said):
    with pytest.raises(ModelFileError, match=rf'^"a\.onnx" has {said}, which no RVC model needs.*\.$') as caught:
        inspect_graph(model_with(tmp_path / "a.onnx", change))
    assert caught.value.code == "unsafe"


def test_inspect_graph_accepts_a_branch_and_finds_random_nodes(tmp_path):
    """PyTorch writes a branch where it cannot tell whether an axis has one place."""
    change = branch(lambda: helper.make_node("Squeeze", ["audio"], ["branched"]))
    assert inspect_graph(model_with(tmp_path / "a.onnx", change)).draws


def convolved(stages):
    """Convolutions one after another: (operator, sizes of weights, stride)."""

    def change(model):
        del model.graph.node[:]
        value = "phone"
        for number, (operator, sizes, stride) in enumerate(stages):
            model.graph.initializer.append(onnx.TensorProto(name=f"w{number}", dims=sizes, data_type=REAL))
            add(model.graph, operator, [value, f"w{number}"], f"v{number}", strides=[stride])
            value = f"v{number}"
        add(model.graph, "Identity", [value], "audio")

    return change


def test_inspect_graph_counts_multiplications_at_the_rate_of_each_layer(tmp_path):
    stages = [("Conv", [8, 4, 3], 1), ("ConvTranspose", [8, 2, 16], 10), ("Conv", [2, 2, 5], 1), ("Conv", [1, 2, 4], 2)]
    found = inspect_graph(model_with(tmp_path / "a.onnx", convolved(stages)))
    assert not found.draws
    assert found.multiplications_per_s == 100 * 96 + 100 * 256 + 1000 * 20 + 500 * 8


def test_inspect_graph_refuses_networks_that_multiply_far_more_than_a_model_of_rvc(tmp_path):
    stages = [("ConvTranspose", [16, 128, 400], 400), ("Conv", [128, 128, 401], 1)]
    with pytest.raises(ModelFileError, match=r"networks of 263 billion .* at most 61") as caught:
        inspect_graph(model_with(tmp_path / "a.onnx", convolved(stages)))
    assert caught.value.code == "too_large"


def test_inspect_graph_raises_nothing_else_for_damaged_files(tmp_path):
    change = branch(lambda: helper.make_node("Neg", ["audio"], ["branched"]))
    content, drawn = model_with(tmp_path / "a.onnx", change).read_bytes(), random.Random(0)
    for _ in range(300):
        changed = bytearray(content[: drawn.randrange(1, len(content))])
        for _ in range(3):
            changed[drawn.randrange(len(changed))] = drawn.randrange(256)
        (tmp_path / "a.onnx").write_bytes(changed)
        with suppress(ModelFileError, ValueError):
            inspect_graph(tmp_path / "a.onnx")
