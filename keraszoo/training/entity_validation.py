"""How well a tagger does on held-out sentences while it learns."""

import functools

import keras
from keras import ops

from keraszoo.evaluation.tagging import score_tags
from keraszoo.text.tag_schemes import convert
from keraszoo.training.jitted import jitted_on_jax


class HeldOutSpans(keras.callbacks.Callback):
    """Adds figures of held-out sentences to the logs after every epoch.

    `val_loss`, the model's own in nats a token, each counted alike; `val_f1`, `val_precision` and
    `val_recall` of entities, seqeval's strict IOB2. Each sentence goes through the model once.

    Args:
        sentences: list of `TaggedSentence`.
        batches: `TagBatches` of the same sentences.
        vocabulary: the `TaggingVocabulary` that made them.
    """

    def __init__(self, sentences, batches, vocabulary):
        super().__init__()
        self.gold = [sentence.tags for sentence in sentences]
        self.batches = batches
        self.vocabulary = vocabulary

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs.update(self.figures(self.model))

    def figures(self, model):
        """The figures of a compiled model, a dict."""
        predicted, total, tokens = [()] * len(self.gold), 0.0, 0
        for i in range(len(self.batches)):
            real = self.batches.real_tokens(0, i)
            loss, tags = _judged(model)(*self.batches.batch(0, i))
            total, tokens = total + float(loss) * real, tokens + real
            indices = self.batches.indices(0, i)
            rows = ops.convert_to_numpy(tags)[: len(indices)]
            named = self.vocabulary.decode_tags(rows, [len(self.gold[j]) for j in indices])
            for j, names in zip(indices, named, strict=True):
                predicted[j] = convert(names, self.vocabulary.scheme, "IOB2")
        f1 = score_tags(self.gold, predicted).f1
        return {
            "val_loss": total / tokens,
            "val_f1": f1.score,
            "val_precision": f1.precision,
            "val_recall": f1.recall,
        }


@functools.lru_cache(maxsize=2)
def _judged(model):
    """The loss of a batch and its best tags, as a function traced once for all lengths (by JAX, for each)."""

    def judge(features, tags, sample_weight):
        scores = model(features, training=False)
        loss = model.compute_loss(features, tags, scores, sample_weight, training=False)
        return loss, model.best_tags(features, scores)

    if keras.backend.backend() != "tensorflow":
        return jitted_on_jax(judge, model)
    import tensorflow as tf

    return tf.function(judge, reduce_retracing=True, autograph=False)
