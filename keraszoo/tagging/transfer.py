"""Starts a tagger from the encoder of a trained one."""

import numpy as np

from keraszoo.errors import RecipeError
from keraszoo.tasks.transfer import check_not_quantized, say_left_out


def start_from(tagger, trained):
    """Copies the encoder of a trained tagger into an untrained one, where it fits.

    The encoder is all between the word vectors and the scores of tags. A layer is copied if both models have
    it, by name and shapes; its embeddings of characters, for those that both taggers know. So a tagger for
    other labels can begin with what a larger corpus or a language model taught (Peters et al. 2017,
    https://arxiv.org/abs/1705.00108). Both should have the same word vectors, which the encoder reads.

    Returns how many numbers were copied. Raises RecipeError if no layer fits, or the encoder is quantized.
    """
    layers = {layer.name: layer for layer in _encoder(trained.model)}
    check_not_quantized(
        (part for layer in layers.values() for part in layer._flatten_layers()), "model.start_from"
    )
    copied, sizes = 0, {name: layer.count_params() for name, layer in layers.items()}
    left = dict(sizes)
    for layer in _encoder(tagger.model):
        before = layer.get_weights()
        after = layers[layer.name].get_weights() if layer.name in layers else []
        if layer.name == "characters" and after:
            after[0] = _characters(before[0], after[0], tagger.vocabulary, trained.vocabulary)
        if [weight.shape for weight in before] == [weight.shape for weight in after]:
            layer.set_weights(after)
            copied += sum(weight.size for weight in after)
            left.pop(layer.name, None)
    if not copied:
        kinds = type(trained.model).__name__, type(tagger.model).__name__
        raise RecipeError("model.start_from: no layer of its {} fits this {}".format(*kinds))
    say_left_out(left, sum(sizes.values()))
    return copied


def _encoder(model):
    """All layers between the vectors of words and the scores of tags."""
    parts = [layer for layer in model.layers if layer is not model.words and layer is not model.head]
    spelling = (getattr(model.words, name, None) for name in ("characters", "casing"))
    return [layer for layer in (*spelling, *parts) if layer is not None]


def _characters(new, old, vocabulary, trained):
    """The table of characters, with the old rows of padding, the unknown and all that both taggers know."""
    if new.shape[1] != old.shape[1]:
        return old
    first = len(new) - len(vocabulary.characters)
    known = {character: row for row, character in enumerate(trained.characters, first)}
    rows = [*range(first), *(known.get(character, -1) for character in vocabulary.characters)]
    return np.where(np.array(rows)[:, None] >= 0, old[rows], new)
