"""How well a tagger does on held-out sentences while it learns."""

import functools

import keras

from keraszoo.evaluation.tagging import score_tags
from keraszoo.training.jitted import jitted_on_jax


class HeldOutSpans(keras.callbacks.Callback):
    """Adds figures of held-out sentences to the logs after every epoch.

    `val_loss`, the model's own in nats a token; `val_f1`, `val_precision` and `val_recall` of entities,
    seqeval's strict IOB2.

    Args:
        tag: a function that tags a list of token lists with the model as it is, in IOB2.
        sentences: list of `TaggedSentence`.
        batches: `TagBatches` of the same sentences.
    """

    def __init__(self, tag, sentences, batches):
        super().__init__()
        self.tag = tag
        self.sentences = sentences
        self.batches = batches

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs.update(self.figures(self.model))

    def figures(self, model):
        """The figures of a model, a dict."""
        gold = [sentence.tags for sentence in self.sentences]
        f1 = score_tags(gold, self.tag([sentence.tokens for sentence in self.sentences])).f1
        return {
            "val_loss": mean_loss(model, self.batches),
            "val_f1": f1.score,
            "val_precision": f1.precision,
            "val_recall": f1.recall,
        }


def mean_loss(model, batches):
    """The mean loss of a compiled tagger over all tokens of `TagBatches`, each counted alike; in nats."""
    program = _loss_program(model)
    total = tokens = 0
    for i in range(len(batches)):
        real = batches.real_tokens(0, i)
        total += float(program(*batches.batch(0, i))) * real
        tokens += real
    return total / tokens


@functools.lru_cache(maxsize=2)
def _loss_program(model):
    """The model's loss of a batch as a function that is traced once for all lengths (by JAX, for each)."""

    def loss(features, tags, sample_weight):
        scores = model(features, training=False)
        return model.compute_loss(features, tags, scores, sample_weight, training=False)

    if keras.backend.backend() != "tensorflow":
        return jitted_on_jax(loss, model)
    import tensorflow as tf

    return tf.function(loss, reduce_retracing=True, autograph=False)
