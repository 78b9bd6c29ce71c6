"""Changes of the scores of a trained tagger: fewer tags, another temperature."""

import numpy as np
from keras import ops


def with_tags(model, tags, allowed=None):
    """A model of the same class that knows only some of the tags, with all its other weights.

    It is quantized as the model is.

    Args:
        model: a built `TaggingModel` without LoRA.
        tags: numbers of the tags that are kept, in their new order.
        allowed: what the scheme permits among them, as for `CRF`; `None`: what the model permits. Not used if
            the model has no scheme.
    """
    old = model.head.allowed
    if old is None:
        allowed = None
    elif allowed is None:
        allowed = [np.array(old[0])[np.ix_(tags, tags)], *(np.array(part)[list(tags)] for part in old[1:])]
    fewer = type(model).from_config({**model.get_config(), "num_tags": len(tags), "allowed": allowed})
    fewer.build_from_config(model.get_build_config())
    kept = {id(weight): (-1,) for weight in model.head.scores.weights}
    if model.head.chain is not None:
        kept |= {id(weight): range(len(weight.shape)) for weight in model.head.chain.weights}
    for new, old in zip(fewer.weights, model.weights, strict=True):
        value = old
        for axis in kept.get(id(old), ()):
            value = ops.take(value, np.array(tags), axis=axis)
        new.assign(value)
    return fewer


def scale_scores(model, factor, tags):
    """Scales the score differences between taggings; the best tagging stays the best.

        s(x, y) = factor (s(x, y) - s(x, 0...0))

    Args:
        model: a built `TaggingModel`, changed in place.
        factor: a positive number; above 1, probable taggings become more probable.
        tags: numbers of tags, tag 0 among them. The scores of taggings with other tags are only shifted.
    """
    head = model.head
    scaled = np.isin(np.arange(head.num_tags), list(tags))
    transitions = None if head.chain is None else head.chain.transitions
    for weight in head.weights:
        value, chosen = ops.convert_to_numpy(weight), scaled
        value = value - (value[0, 0] if weight is transitions else value[..., :1])
        if weight is transitions:
            chosen = np.outer(scaled, scaled)
        weight.assign(np.where(chosen, factor * value, value))
