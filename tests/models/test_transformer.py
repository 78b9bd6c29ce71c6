"""The Transformer's sizes, tied weights and errors; what all models share is in test_all_models.py."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers.positions import POSITIONS
from keraszoo.models import Ensemble, Transformer

to_numpy = ops.convert_to_numpy


def parameters(vocabulary, d_model, num_layers, intermediate_dim, pre_norm=False):
    """Sections 3.1 to 3.4, counted by hand: all matrices, their biases, and two vectors a LayerNorm."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * intermediate_dim + intermediate_dim + intermediate_dim * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    last_norms = 2 * norm if pre_norm else 0
    return vocabulary * d_model + num_layers * (encoder_layer + decoder_layer) + last_norms


SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 5}


@pytest.mark.parametrize("pre_norm", [False, True])
def test_parameters_are_those_of_the_paper(pre_norm):
    sizes = {"d_model": 10, "num_layers": 2, "num_heads": 5, "intermediate_dim": 14}
    model = Transformer(23, **sizes, pre_norm=pre_norm)
    model.build()
    assert model.count_params() == parameters(23, 10, 2, 14, pre_norm)


@pytest.mark.parametrize(
    ("name", "in_paper", "exactly"), [("base", 65e6, 63_082_496), ("big", 213e6, 214_245_376)]
)
def test_configurations_have_the_sizes_of_table_3(name, in_paper, exactly):
    # The paper's vocabulary is "about 37000", and its two counts do not agree on it: with layers of 44.1 M
    # and 176.4 M parameters, 65 M leave room for 40,700 rows of 512, but 213 M for 35,800 rows of 1024. With
    # 37,000 rows both are within 3 %.
    config = Transformer.from_configuration(name, source_vocabulary_size=9).get_config()
    count = parameters(37_000, config["d_model"], config["num_layers"], config["intermediate_dim"])
    assert count == exactly == pytest.approx(in_paper, rel=0.03)
    heads = {"base": 8, "big": 16}[name]
    assert (config["num_heads"], config["d_model"] // config["num_heads"]) == (heads, 64)
    assert (config["pre_norm"], config["tie_embeddings"]) == (False, "all")
    assert config["dropout"] == {"base": 0.1, "big": 0.3}[name]
    assert config["attention_dropout"] == config["hidden_dropout"] == 0  # residual dropout alone


@pytest.mark.parametrize(("tie", "tables"), [("all", 1), ("target", 2)])
def test_tied_weights_are_one_variable(tie, tables):
    model = Transformer(23, **SIZES, tie_embeddings=tie)
    model.build()
    assert [tuple(w.shape) for w in model.trainable_variables].count((23, 8)) == tables
    assert (model.source_embedding is model.target_embedding) == (tie == "all")


def test_two_vocabularies_have_two_tables():
    model = Transformer(11, 23, **SIZES, tie_embeddings="target")
    assert tuple(model((np.array([[10, 3]]), np.array([[1, 22, 5]]))).shape) == (1, 3, 23)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((11, 23), '"all" needs one joint vocabulary. Received: source_vocabulary_size=11, target'),
        ({"tie_embeddings": "none"}, "tie_embeddings must be one of .*Received: tie_embeddings='none'"),
        ({"positions": "alibi"}, r"must be one of .*'relative'\). Received: positions='alibi'"),
    ],
)
def test_wrong_arguments_are_errors(arguments, said):
    sizes, options = (arguments, {}) if isinstance(arguments, tuple) else ((11,), arguments)
    with pytest.raises(ValueError, match=said):
        Transformer(*sizes, **options)


def test_embeddings_are_scaled_and_get_positions():
    # One word, no layers: the memory is sqrt(D) E[word] + PE(position).
    model = Transformer(7, d_model=4, num_layers=1, num_heads=2, intermediate_dim=5)
    model.encoder_layers = []
    memory = to_numpy(model.encode(np.array([[5, 5]]))["memory"])[0]
    E = to_numpy(model.target_embedding.embeddings)
    np.testing.assert_allclose(memory[0], 2 * E[5] + [0, 1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(
        memory[1] - memory[0], [np.sin(1), np.cos(1) - 1, np.sin(0.01), np.cos(0.01) - 1], atol=1e-6
    )


def test_dropout_falls_on_the_sums_of_embeddings_and_positions():
    model = Transformer(7, **{**SIZES, "d_model": 64}, dropout=0.5)
    model.encoder_layers = []
    silent, noisy = (
        to_numpy(model.encode(np.full((4, 32), 5), training=on)["memory"]) for on in (False, True)
    )
    assert (silent != 0).mean() > 0.99 and (noisy == 0).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("positions", POSITIONS)
def test_words_know_their_order_by_each_kind_of_positions(positions):
    model = Transformer(11, **SIZES, dropout=0.0, positions=positions)
    model.build()
    for weight in model.trainable_variables:
        weight.assign(to_numpy(weight) * 3)
    one, other = (to_numpy(model.encode(np.array([row]))["memory"])[0] for row in ([4, 5, 6], [6, 5, 4]))
    assert np.abs(one - other[::-1]).max() > 1e-2


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_positions_of_the_attention_leave_the_embeddings_alone(positions):
    model = Transformer(7, **SIZES, positions=positions)
    model.encoder_layers = []
    memory = to_numpy(model.encode(np.array([[5, 5]]))["memory"])
    np.testing.assert_array_equal(memory[0, 0], memory[0, 1])


@pytest.mark.slow
def test_lora_that_is_quantized_keeps_its_logits():
    rng = np.random.default_rng(0)
    model, batch = tiny_for_lora(), (rng.integers(1, 13, (3, 5)), rng.integers(1, 13, (3, 4)))
    model.enable_lora(2)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(scale=0.5, size=variable.shape))
    exact = to_numpy(model(batch))
    model.quantize("int8")
    np.testing.assert_allclose(to_numpy(model(batch)), exact, atol=0.05 * np.abs(exact).max())


def test_lora_with_wrong_arguments_freezes_nothing():
    model = tiny_for_lora()
    with pytest.raises(ValueError, match="rank must be a positive integer. Received: rank=0"):
        model.enable_lora(0)
    model.enable_lora(2)
    trained = [variable.path for variable in model.trainable_variables]
    assert len(trained) == 34
    with pytest.raises(ValueError, match="lora is already enabled"):
        model.enable_lora(2)
    assert [variable.path for variable in model.trainable_variables] == trained


def test_lora_of_a_frozen_model_is_an_error():
    model = tiny_for_lora()
    model.trainable = False
    with pytest.raises(ValueError, match="LoRA needs a matrix that is trainable"):
        model.enable_lora(2)


def test_lora_reaches_each_model_of_an_ensemble():
    model = Ensemble([tiny_for_lora(), tiny_for_lora()])
    model.enable_lora(2)
    assert len(model.trainable_variables) == 2 * 34


def tiny_for_lora():
    return Transformer(13, **{**SIZES, "intermediate_dim": 16}, dropout=0.0)
