"""The FLOPs that `benchmarks/mfu.py` counts are those that XLA counts."""

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COUNT = """
import json, sys
import jax, numpy as np
sys.path.insert(0, sys.argv[1])
import mfu
from keraszoo.models import Transformer
rows, source, target = 3, 96, 64
ids = np.ones((rows, source), "int32"), np.ones((rows, target), "int32")
for arguments in ({}, {"num_layers": 1, "num_decoder_layers": 5}):
    model = Transformer.from_configuration("tiny", source_vocabulary_size=1000, **arguments)
    model.build()
    parts = model.trainable_variables, model.non_trainable_variables
    state = [[variable.value for variable in part] for part in parts]
    forward = jax.jit(lambda *inputs: model.stateless_call(*inputs)[0])
    analysis = forward.lower(*state, ids).cost_analysis()
    print(json.dumps([mfu.forward_flops(model, rows, source, target), analysis["flops"]]))
"""


def test_the_formula_agrees_with_xla(on_backend):
    pairs = [json.loads(line) for line in on_backend("jax", COUNT, BENCHMARKS).splitlines()]
    assert len(pairs) == 2
    for formula, counted in pairs:
        assert formula == pytest.approx(counted, rel=0.1)
