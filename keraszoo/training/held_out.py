"""Callbacks that evaluate held-out pairs or tagged sentences after every epoch."""

import math

import keras
from keras import ops

LARGEST = 700  # nats; the exponential of more is no float


class HeldOut(keras.callbacks.Callback):
    """Base class: adds the figures of held-out data to the logs.

    A subclass supplies `figures(model)`, which calls `compiled(model)`, and `compile(model)`.
    """

    def __init__(self):
        super().__init__()
        self._compiled = None, None

    def on_epoch_end(self, epoch, logs=None):
        logs.update(self.figures(self.model))

    def figures(self, model):
        """Returns the figures of a compiled model, a dict."""
        raise NotImplementedError

    def compile(self, model):
        """Returns a function of batches that is traced once (on JAX, once for each shape)."""
        raise NotImplementedError

    def compiled(self, model):
        """Returns `compile(model)`, made once. This callback keeps it, so the model is freed with it."""
        if self._compiled[0] is not model:
            self._compiled = model, self.compile(model)
        return self._compiled[1]


class HeldOutPairs(HeldOut):
    """Adds figures of held-out pairs to the logs.

    `val_loss` (nats a token, without label smoothing), `val_perplexity` and `val_token_accuracy` come from
    teacher forcing, and `val_bleu`, sacrebleu's on text, from a search.

    Args:
        translate: function that translates a list of str with the current model; `None`: no `val_bleu`.
        sources: list of str.
        references: list of str.
        batches: `TokenBatches` of the same pairs.
    """

    def __init__(self, translate, sources, references, batches):
        super().__init__()
        self.translate = translate
        self.sources = sources
        self.references = references
        self.batches = batches

    def figures(self, model):
        """Returns the figures of a model, a dict."""
        from keraszoo.evaluation.translation import score_translations

        loss, accuracy = self.token_figures(model)
        figures = {
            "val_loss": loss,
            "val_perplexity": math.exp(min(loss, LARGEST)),
            "val_token_accuracy": accuracy,
        }
        if self.translate is not None:
            scores = score_translations(self.translate(self.sources), self.references)
            figures["val_bleu"] = scores.bleu.score
        return figures

    def token_figures(self, model):
        """Returns the mean loss and the share of correct tokens over all batches, by teacher forcing."""
        forward = self.compiled(model)
        loss = keras.metrics.SparseCategoricalCrossentropy(from_logits=True)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        for i in range(len(self.batches)):
            inputs, target_out, weight = self.batches.batch(0, i)
            logits = ops.cast(forward(*inputs), "float32")
            for metric in (loss, accuracy):
                metric.update_state(target_out, logits, (weight > 0).astype("float32"))
        return float(loss.result()), float(accuracy.result())

    def compile(self, model):
        """Returns the function from `source, target_in` to logits."""

        def logits(source, target_in):
            return model((source, target_in), training=False)

        if keras.backend.backend() != "tensorflow":
            return jitted_on_jax(logits, model)
        import tensorflow as tf

        specs = [tf.TensorSpec([None, None], "int32")] * 2
        return tf.function(logits, input_signature=specs, autograph=False)


class HeldOutSentences(HeldOut):
    """Adds figures of held-out tagged sentences to the logs.

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
        from keraszoo.evaluation.tagging import score_tags
        from keraszoo.text.tag_schemes import convert

        predicted, total, tokens = [()] * len(self.gold), 0.0, 0
        for i in range(len(self.batches)):
            real = self.batches.real_tokens(0, i)
            loss, tags = self.compiled(model)(*self.batches.batch(0, i))
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

    def compile(self, model):
        """Returns the function from a batch to its loss and its best tags."""

        def loss_and_tags(features, tags, sample_weight):
            scores = model(features, training=False)
            loss = model.compute_loss(features, tags, scores, sample_weight, training=False)
            return loss, model.best_tags(features, scores)

        if keras.backend.backend() != "tensorflow":
            return jitted_on_jax(loss_and_tags, model)
        import tensorflow as tf

        return tf.function(loss_and_tags, reduce_retracing=True, autograph=False)


def jitted_on_jax(function, model):
    """Compiles a function of a model with JAX; on other backends, returns the function unchanged.

    JAX compiles one program for each combination of argument shapes. The model's weights are arguments of the
    program, so it always uses their current values. Changes that the function makes to them are lost.

    Args:
        function: takes arrays, and returns arrays or a structure of them.
        model: a built Keras model.

    Returns:
        A function of the same arguments.

    Example:

    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> layer.build((None, 2))
    >>> twice = jitted_on_jax(lambda x: 2 * layer(x), layer)
    >>> float(twice(keras.ops.ones((1, 2)))[0, 0])
    4.0
    """
    if keras.backend.backend() != "jax":
        return function
    import jax

    variables = model.variables

    @jax.jit
    def program(values, *arguments):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*arguments)

    return lambda *arguments: program([variable.value for variable in variables], *arguments)
