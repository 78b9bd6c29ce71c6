"""Evaluation of held-out pairs or tagged sentences after every period."""

import math

import keras
from keras import ops

from keraszoo.compiling import compiled

LARGEST = 700  # nats; the exponential of more is no float


def batches_of(settings, longest):
    """Arguments of batches of held-out data: each sentence has room, and on JAX there are few shapes.

    Args:
        settings: a `FitSection`.
        longest: the length of the longest sentence.
    """
    shapes = (settings.shapes or 16) if keras.backend.backend() == "jax" else None
    return {"tokens": max(settings.batch_tokens, longest), "shuffle": False, "shapes": shapes}


class HeldOut:
    """Base class: the figures of held-out data.

    A subclass supplies `figures(model)`, which calls `function_of(model)`, and `make_function(model)`.
    """

    def __init__(self):
        self._function = None, None

    def figures(self, model):
        """Returns the figures of a compiled model, a dict."""
        raise NotImplementedError

    def make_function(self, model):
        """Returns a function of batches that is traced once (on JAX, once for each shape)."""
        raise NotImplementedError

    def function_of(self, model):
        """Returns `make_function(model)`, made once; kept here, so the model is freed with this object."""
        if self._function[0] is not model:
            self._function = model, self.make_function(model)
        return self._function[1]


class HeldOutPairs(HeldOut):
    """Figures of held-out pairs.

    `val_loss` (nats a token, without label smoothing), `val_perplexity` and `val_token_accuracy` come from
    teacher forcing, and `val_bleu`, sacrebleu's on text, from a search.

    Args:
        translate: function that translates a list of str with the current model; `None`: no `val_bleu`.
        sources: list of str.
        references: list of str.
        batches: `TokenBatches` of the same pairs.
        tokenizer: sacrebleu's for BLEU.
    """

    def __init__(self, translate, sources, references, batches, tokenizer="13a"):
        super().__init__()
        self.translate = translate
        self.sources = sources
        self.references = references
        self.batches = batches
        self.tokenizer = tokenizer

    def figures(self, model):
        """Returns the figures of a model, a dict."""
        from keraszoo.evaluation.translation import cased_bleu

        loss, accuracy = self.token_figures(model)
        figures = {
            "val_loss": loss,
            "val_perplexity": math.exp(min(loss, LARGEST)),
            "val_token_accuracy": accuracy,
        }
        if self.translate is not None:
            figures["val_bleu"] = cased_bleu(self.translate(self.sources), self.references, self.tokenizer)
        return figures

    def token_figures(self, model):
        """Returns the mean loss and the share of correct tokens over all batches, by teacher forcing."""
        forward = self.function_of(model)
        loss = keras.metrics.SparseCategoricalCrossentropy(from_logits=True)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        for i in range(len(self.batches)):
            inputs, target_out, weight = self.batches.batch(0, i)
            logits = ops.cast(forward(*inputs), "float32")
            for metric in (loss, accuracy):
                metric.update_state(target_out, logits, (weight > 0).astype("float32"))
        return float(loss.result()), float(accuracy.result())

    def make_function(self, model):
        """Returns the function from `source, target_in` to logits."""

        def logits(source, target_in):
            return model((source, target_in), training=False)

        return compiled(logits, model, lambda tf: [tf.TensorSpec([None, None], "int32")] * 2)


class HeldOutSentences(HeldOut):
    """Figures of held-out tagged sentences.

    `val_loss` is the model's own in nats a token; `val_f1`, `val_precision` and `val_recall` are seqeval's
    strict IOB2 scores of entities. Each sentence goes through the model once.

    Args:
        sentences: list of `TaggedSentence`.
        batches: `TagBatches` of the same sentences.
        vocabulary: the `TaggingVocabulary` of the batches.
    """

    def __init__(self, sentences, batches, vocabulary):
        super().__init__()
        self.gold = [sentence.tags for sentence in sentences]
        self.batches = batches
        self.vocabulary = vocabulary

    def figures(self, model):
        """Returns the figures of a compiled model, a dict."""
        from keraszoo.evaluation.tagging import strict_score

        predicted, total, tokens = [()] * len(self.gold), 0.0, 0
        for i in range(len(self.batches)):
            real = self.batches.real_tokens(0, i)
            loss, tags = self.function_of(model)(*self.batches.batch(0, i))
            total, tokens = total + float(loss) * real, tokens + real
            indices = self.batches.indices(0, i)
            rows = ops.convert_to_numpy(tags)[: len(indices)]
            named = self.vocabulary.decode_tags(rows, [len(self.gold[j]) for j in indices])
            for j, names in zip(indices, named, strict=True):
                predicted[j] = names  # unrepaired: in IOB2, invalid tags count as wrong
        f1 = strict_score(self.gold, predicted, self.vocabulary.scheme)
        return {
            "val_loss": total / tokens,
            "val_f1": f1.score,
            "val_precision": f1.precision,
            "val_recall": f1.recall,
        }

    def make_function(self, model):
        """Returns the function from a batch to its loss and its best tags."""

        def loss_and_tags(features, tags, sample_weight):
            scores = model(features, training=False)
            loss = model.compute_loss(features, tags, scores, sample_weight, training=False)
            return loss, model.head.decode(scores, model.mask(features))

        return compiled(loss_and_tags, model)
