"""The results table of all models: sizes, counted FLOPs, finished runs that are skipped, output."""

import json
from pathlib import Path
from types import SimpleNamespace

import lineage
import numpy as np
import pytest
import results_table
from flops import counted_flops
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.models import ConvS2S
from keraszoo.registry import models_of
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.token_batches import TokenBatches
from keraszoo.translation.run import make_model

LINEAGE = [section for _, section, _ in lineage.MODELS.values()]  # tests/experiments/test_lineage.py
OTHERS = [name for name, (_, section) in results_table.MODELS.items() if section not in LINEAGE]
RUN = {"model": "convs2s", "seed": 1, "epochs": 6, "bleu": 31.0, "chrf": 57.0, "flops": 2e15}
RUN |= {"parameters": 1_910_560, "cpu_seconds": 300, "val_loss": [2.0, 1.5]}


def options(tmp_path, **given):
    return SimpleNamespace(**{"data": tmp_path, "output": tmp_path, "set": [], **given})


@pytest.mark.parametrize("name", OTHERS)
def test_recipes_have_models_of_1_75_to_2_million_parameters(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MULTI30K", "multi30k")
    recipe = results_table.recipe_of(name, 2, 12, options(tmp_path))
    assert (recipe.training.seed, recipe.training.epochs) == (2, 12)
    assert recipe.data.train.source == "${MULTI30K}/train.en.gz"
    vocabulary = SimpleNamespace(vocabulary_size=recipe.subwords.vocabulary_size, pad_id=0)
    assert 1.75e6 < make_model(recipe, vocabulary, vocabulary).count_params() < 2e6


def test_the_table_has_every_translation_model():
    names = {section["name"] for _, section in results_table.MODELS.values()}
    assert len(results_table.MODELS) == 11 and names >= set(models_of("translation"))
    assert set(results_table.PAPER) <= set(results_table.MODELS)


def test_matrix_products_count_two_operations_per_multiplication():
    a, b = ops.ones((2, 3, 4, 5)), ops.ones((4, 5, 7))
    assert counted_flops(lambda: ops.einsum("bhtp,tpq->bhtq", a, b)) == 2 * 2 * 3 * 4 * 5 * 7
    assert counted_flops(lambda: ops.matmul(a, ops.ones((2, 3, 5, 6)))) == 2 * 2 * 3 * 4 * 5 * 6
    assert counted_flops(lambda: a + a) == 0


def test_training_flops_equal_the_sum_over_all_batches():
    """Forward and two products of each layer backward; E = U = 4, a layer on each side, k = 3, V = 9."""
    draw = np.random.default_rng(0)
    sides = [[draw.integers(4, 9, draw.integers(1, 9)).tolist() for _ in range(60)] for _ in range(2)]
    corpus = ParallelCorpus.from_ids(*sides, pad_id=0, start_id=1, end_id=3)
    batches = TokenBatches(corpus, 64, shapes=None)
    model = ConvS2S(9, embedding_dim=4, units=4, num_layers=1)
    model.build()
    flops, residual = results_table.flops_of(model, batches, epochs=2)
    wanted = 0
    for epoch, i in np.ndindex(2, len(batches)):
        (rows, source), (_, target) = (side.shape for side in batches.batch(epoch, i)[0])
        of_source = 4 * 4 + 12 * 8 + 4 * 4  # in, convolution, out
        of_target = of_source + 2 * 4 * 4 + 4 * 9  # and query, context, output
        wanted += 3 * 2 * rows * (source * of_source + target * of_target + 2 * 4 * source * target)
    assert flops == pytest.approx(wanted) and residual < 1e-6


def test_draw_prints_the_table_and_writes_the_picture(tmp_path, capsys):
    file = tmp_path / "runs.json"
    with pytest.raises(KerasZooError, match="no finished run"):
        results_table.draw(file)
    runs = [RUN, {**RUN, "seed": 2, "bleu": 33.0}, {**RUN, "epochs": 12, "flops": 4e15}]
    file.write_text("".join(json.dumps(run) + "\n" for run in runs))
    results_table.draw(file)
    columns, _, row = capsys.readouterr().out.splitlines()
    assert "| BLEU, 6 epochs | BLEU, 12 epochs | chrF2 | FLOPs |" in columns
    figures = "ConvS2S (Gehring 2017) | 1.91 M | 1 | 32.00 ± 1.41 | 31.00 | 57.00 | 4.0e+15 | 300"
    assert row == f"| {figures} | ConvS2S | 25.16 | 9.6e+18 | 40.46 | 1.5e+20 |"
    table = json.loads(Path(tmp_path, "results_table.json").read_text())
    assert " | ".join(*table["rows"]) in row and " | ".join(table["columns"]) in columns
    assert Path(tmp_path, "runs.png").stat().st_size > 1000
