"""Several translation models that choose each word together."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import require
from keraszoo.models.translation_model import TranslationModel


@keras.saving.register_keras_serializable(package="keraszoo")
class Ensemble(TranslationModel):
    """The mean of the distributions of several models.

        p(y_t | y_<t, x) = 1/M sum_m p_m(y_t | y_<t, x)        M models of the same vocabularies

    The members may be of any class. Attention weights are the mean over the members that attend.
    `Translator.ensemble` makes an ensemble of translators, and checks that they have the same subwords.

    Args:
        models: list of at least two `TranslationModel`s.

    Call arguments:
        inputs: `(source, target_in)`, as for `TranslationModel`.

    Returns:
        Log-probabilities `(B, T, V)`, float32, which are also logits of the same distribution.

    Raises:
        ValueError: if there are fewer than two models, one of them occurs twice or is an ensemble, or their
            vocabularies or ids of padding differ.

    Example:

    >>> from keraszoo.models import DeepLSTM, RNNSearch
    >>> ensemble = Ensemble([RNNSearch(9, embedding_dim=4, units=4), DeepLSTM(9, embedding_dim=4, units=4)])
    >>> tuple(ensemble((ops.array([[4, 5, 3]]), ops.array([[1, 6]]))).shape)
    (1, 2, 9)

    Reference: Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks, 2014,
    https://arxiv.org/abs/1409.3215, section 3.6, whose best scores are those of five models together.
    """

    def __init__(self, models, **kwargs):
        require(len(models) > 1, "an ensemble needs two models or more", models=len(models))
        names = "source_vocabulary_size", "target_vocabulary_size", "source_pad_id", "target_pad_id"
        sizes = [tuple(getattr(model, name) for name in names) for model in models]
        require(len({*sizes}) == 1, "models of an ensemble need the same vocabularies", sizes=sizes)
        kinds = [type(model).__name__ for model in models]
        require(len({*map(id, models)}) == len(models), "models of an ensemble need to differ", models=kinds)
        nested = any(isinstance(model, Ensemble) for model in models)
        require(not nested, "models of an ensemble cannot be ensembles; list their models", models=kinds)
        super().__init__(*sizes[0], dtype="float32", **kwargs)
        self.models = list(models)

    def members(self):
        return self.models

    @property
    def attends(self):
        return any(model.attends for model in self.models)

    def build(self, input_shape=None):
        for model in self.models:
            if not model.built:
                model.build()
        self.built = True

    def encode(self, source, training=None):
        memories = {str(i): model.encode(source, training=training) for i, model in enumerate(self.models)}
        return {"memory_mask": self.memory_mask(source), **memories}

    def decode(self, memory, target_in, training=None):
        logits, weights = zip(
            *(model.decode(memory[str(i)], target_in, training) for i, model in enumerate(self.models)),
            strict=True,
        )
        return self._mean(logits), _mean_weights(weights)

    def initial_state(self, memory, beam_width=1, length=None):
        models = enumerate(self.models)
        return self._together(
            [model.initial_state(memory[str(i)], beam_width, length) for i, model in models]
        )

    def step(self, tokens, state):
        members = zip(self.models, state["members"], strict=True)
        logits, states = zip(*(model.step(tokens, own) for model, own in members), strict=True)
        return self._mean(logits), self._together(states)

    def select_rows(self, state, rows):
        return self._together(self._ask("select_rows", state, rows))

    def select_sentences(self, state, sentences, beam_width=1):
        return self._together(self._ask("select_sentences", state, sentences, beam_width))

    def lengthen(self, state, extra):
        return self._together(self._ask("lengthen", state, extra))

    def free_axes(self, state):
        axes = {"position": (), "members": self._ask("free_axes", state)}
        return {**axes, "attention_weights": (0,)} if self.attends else axes

    def _ask(self, method, state, *arguments):
        members = zip(self.models, state["members"], strict=True)
        return [getattr(model, method)(own, *arguments) for model, own in members]

    def _together(self, states):
        together = {"position": states[0]["position"], "members": list(states)}
        if self.attends:
            weights = _mean_weights([state.get("attention_weights") for state in states])
            together["attention_weights"] = weights
        return together

    def _mean(self, logits):
        """The log of the mean of the members' distributions, for logits `(..., V)` of each."""
        log_probs = [ops.log_softmax(ops.cast(part, "float32")) for part in logits]
        return ops.logsumexp(ops.stack(log_probs), axis=0) - math.log(len(log_probs))

    def get_config(self):
        models = [keras.saving.serialize_keras_object(model) for model in self.models]
        for model in models:
            model.pop("compile_config", None)  # they are not trained apart any more
        return {"name": self.name, "trainable": self.trainable, "models": models}

    @classmethod
    def from_config(cls, config):
        models = [keras.saving.deserialize_keras_object(model) for model in config["models"]]
        return cls(**{**config, "models": models})


def _mean_weights(weights):
    """The mean of the attention weights of the members that have any, else `None`."""
    weights = [ops.cast(part, "float32") for part in weights if part is not None]
    return sum(weights) / len(weights) if weights else None
