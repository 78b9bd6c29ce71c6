"""Models with named configurations."""

import keras

from keraszoo.errors import plain_number
from keraszoo.layers.configured import Configured

MATRICES = keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding


class ConfiguredModel(Configured, keras.Model):
    """Base of the models: the arguments of the constructor are the configuration, and some sets have names.

    Attributes:
        configurations: dict of name -> arguments: the sizes of the papers, and smaller ones.
    """

    configurations = {}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{"autocast": False, **kwargs})  # half precision would round ids

    def members(self):  # no property: Keras would save it
        """The models that an `Ensemble` is made of; of any other model, itself."""
        return [self]

    @classmethod
    def from_configuration(cls, name, **arguments):
        """Makes a model with the arguments `cls.configurations[name]`; those of `arguments` take precedence.

        Raises:
            ValueError: if there is no configuration of that name.
        """
        if name not in cls.configurations:
            known = sorted(cls.configurations)
            raise ValueError(f"{cls.__name__} has the configurations {known}. Received: {name!r}")
        arguments = {name: plain_number(value) for name, value in arguments.items()}
        return cls(**{**cls.configurations[name], **arguments})

    def matrices(self):
        """The sublayers whose weights are matrices that Keras quantizes and adapts."""
        return [layer for layer in self._flatten_layers() if isinstance(layer, MATRICES)]

    def quantize(self, mode=None, config=None, filters=None, **kwargs):
        """Quantizes the matrices of the model in place, see `keras.Model.quantize`; weights are made first.

        A quantized model is saved and read like any other.
        """
        if not self.built:
            self.build()
        if filters is None:
            filters = _is_plain_matrix
        super().quantize(mode, config=config, filters=filters, **kwargs)

    def enable_lora(self, rank, lora_alpha=None):
        """Freezes all weights and adds to each matrix W a trainable product of low rank (Hu et al., 2022).

            W' = W + lora_alpha / rank * A B        A `(rows, rank)`, B `(rank, columns)`, which starts as 0

        Compile the model afterwards. A saved model has the sums W'. A quantized `ReversibleEmbedding` stays
        as it is, because Keras would leave A B out of its logits.

        Args:
            rank: of A and B.
            lora_alpha: factor of A B; `None`: the rank.

        Raises:
            ValueError: if LoRA is enabled already, or a matrix has a constraint or a quantization that Keras
                cannot combine with LoRA.

        Reference: Hu et al.: LoRA: Low-Rank Adaptation of Large Language Models, 2022,
        https://arxiv.org/abs/2106.09685.
        """
        if not self.built:
            self.build()
        adapted = [layer for layer in self.matrices() if layer.trainable and not _reads_int8(layer)]
        for variable in self.trainable_variables:
            variable.trainable = False
        for layer in adapted:
            layer.enable_lora(rank, lora_alpha=lora_alpha)

    def get_build_config(self):
        """The modes of the quantized sublayers by their paths."""
        modes = {layer.path: layer.quantization_mode for layer in self.matrices()}
        return {"quantized": {path: mode for path, mode in modes.items() if mode}}

    def build_from_config(self, config):
        if not self.built:
            self.build()
        quantized = config["quantized"]
        for mode in sorted({*quantized.values()}):
            self.quantize(mode, filters=lambda layer, mode=mode: quantized.get(layer.path) == mode)

    def make_train_function(self, force=False):
        """Makes weights and the optimizer's variables before the first step is traced.

        Made within it, each of them would add operations to the graph, which TensorFlow would trace twice.
        """
        if not self.built:
            self.build()
        if not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)


def _is_plain_matrix(layer):
    return isinstance(layer, MATRICES) and layer.quantization_mode is None


def _reads_int8(layer):
    return isinstance(layer, keras.layers.ReversibleEmbedding) and layer.quantization_mode is not None
