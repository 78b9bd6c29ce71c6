"""Starts a translator from the weights of a trained one."""

import collections
import math

import numpy as np

from keraszoo.errors import RecipeError
from keraszoo.models.ensemble import Ensemble
from keraszoo.tasks.transfer import check_not_quantized, say_left_out
from keraszoo.text.normalization import normalizer
from keraszoo.text.subwords import Subwords


def start_from(translator, trained):
    """Copies the weights of a trained translator into an untrained one, where they fit.

    A weight fits if both models have it, by name and shape. Embeddings and output weights are copied subword
    by subword; a subword that only the new vocabulary has gets the mean of the old ones that spell it. So a
    training can continue on other data, or a student with fewer layers or a smaller vocabulary can begin
    where its teacher ended (Shleifer and Rush 2020, https://arxiv.org/abs/2010.13002).

    Pre-norm Transformer layers that only the new model has start as the identity. So a deeper model begins
    with the outputs of the trained one (Chen, Goodfellow and Shlens 2016, https://arxiv.org/abs/1511.05641).

    Args:
        translator: the new `Translator`, its model built.
        trained: the `Translator` with the weights.

    Returns:
        How many numbers of the new model were copied.

    Raises:
        RecipeError: none fits, or the trained model is an ensemble or quantized.
    """
    if isinstance(trained.model, Ensemble):
        raise RecipeError("model.start_from: an ensemble has the weights of several models; name one of them")
    check_not_quantized(trained.model._flatten_layers(), "model.start_from")
    values = {_name(weight): np.asarray(weight.numpy()) for weight in trained.model.weights}
    pieces, copied, left = {}, 0, dict(values)
    for weight in translator.model.trainable_weights:
        name = _name(weight)
        value = values.get(name)
        if value is None:
            continue
        side = next((side for start, side in SIDES.items() if name.startswith(start)), None)
        if side is not None:
            axis = -1 if name.startswith("output") else 0
            if side not in pieces:
                pieces[side] = _pieces(getattr(translator, side), getattr(trained, side))
            parts = [np.take(value, ids, axis).mean(axis, keepdims=True) for ids in pieces[side]]
            value = np.concatenate(parts, axis)
        if value.shape == tuple(weight.shape):
            weight.assign(value)
            copied += value.size
            del left[name]
    if not copied:
        kinds = type(trained.model).__name__, type(translator.model).__name__
        raise RecipeError("model.start_from: no weight of its {} fits this {}".format(*kinds))
    sizes = {_name(weight): math.prod(weight.shape) for weight in trained.model.trainable_weights}
    lost = collections.Counter()  # by layer
    for name in sizes.keys() & left:
        lost[name.partition("/")[0]] += sizes[name]
    say_left_out(lost, sum(sizes.values()))
    known = {name.partition("/")[0] for name in values}
    for layer in translator.model.layers:
        if getattr(layer, "pre_norm", False) and layer.name not in known:
            layer.start_as_identity()
    return copied


# The weights with a part for each subword, by how their names start, and whose subwords these are.
SIDES = {
    "source_embedding": "source_subwords",
    "target_embedding": "target_subwords",
    "output": "target_subwords",
}


def _name(weight):
    """The name of a weight without that of its model."""
    return weight.path.partition("/")[2]


def _pieces(new, old):
    """For each id of a vocabulary, the ids of the other one that spell it."""
    known = {piece: id_ for id_, piece in enumerate(old.pieces(range(len(old))))}
    pieces = new.pieces(range(len(new)))
    plain = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}  # a piece in a word starts none
    rules = normalizer(model_proto=old.model_bytes, **plain).serialized_model_proto()
    spelled = Subwords(old.model_bytes + rules).encode(pieces)
    return [
        [known[piece]] if piece in known else ids or [old.unknown_id]
        for piece, ids in zip(pieces, spelled, strict=True)
    ]
