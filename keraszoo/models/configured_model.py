"""Models whose simple arguments are their configuration."""

import inspect

import keras
import numpy as np

from keraszoo.layers.arguments import check_sizes, constructor_arguments, require
from keraszoo.layers.quantization import quantization_of, quantize, quick_collections

QUANTIZABLE = keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding


class ConfiguredModel(keras.Model):
    """Base of the models: Keras records the arguments of the constructor.

    The record has the defaults of base classes, too, and Python's numbers and lists for NumPy's. A saved
    model that is quantized is read as such. `configurations` is a dict of name -> arguments: the sizes of the
    papers, and smaller ones.
    """

    configurations = {}
    lora = None  # the arguments of `enable_lora`

    def __new__(cls, *args, **kwargs):
        own = inspect.signature(cls.__init__).parameters
        of_bases = {
            name: parameter.default
            for name, parameter in constructor_arguments(cls).items()
            if name not in own and parameter.default is not parameter.empty
        }
        args, kwargs = keras.tree.map_structure(_as_python, (args, {**of_bases, **kwargs}))
        return keras.layers.Layer.__new__(cls, *args, **kwargs)  # `Model.__new__` records no arguments

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{"autocast": False, **kwargs})  # half precision would round ids

    def members(self):  # no property: Keras would save it
        """The models that an `Ensemble` is made of; of any other model, itself."""
        return [self]

    @classmethod
    def constructor_parameters(cls):
        """All arguments of the constructor: dict of name -> `inspect.Parameter`."""
        return constructor_arguments(cls)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        model = super().from_config(config, custom_objects)
        for layer in model.layers if not model.trainable else ():
            layer.trainable = False  # `Model` would freeze none of them
        return model

    @classmethod
    def from_configuration(cls, name, **arguments):
        """Makes a model with `cls.configurations[name]`; `arguments` take precedence."""
        if name not in cls.configurations:
            known = sorted(cls.configurations)
            raise ValueError(f"{cls.__name__} has the configurations {known}. Received: {name!r}")
        return cls(**{**cls.configurations[name], **arguments})

    def quantize(self, mode=None, config=None, filters=None, **kwargs):
        """As in Keras; without filters, it skips layers that are quantized already or cannot be.

        A `ReversibleEmbedding` with LoRA first gets the sum W', because Keras would leave A B out of its
        logits.
        """
        for layer in self._flatten_layers():
            if isinstance(layer, keras.layers.ReversibleEmbedding) and layer.lora_enabled:
                weights = {}
                layer.save_own_variables(weights)  # the sum
                layer.load_own_variables(weights)

        def fits(layer):
            return not layer.quantization_mode and isinstance(layer, QUANTIZABLE)

        if "verbose" in inspect.signature(keras.Model.quantize).parameters:  # Keras 3.16 prints a report
            kwargs = {"verbose": False, **kwargs}
        with quick_collections():
            return super().quantize(mode, config, filters or fits, **kwargs)

    def enable_lora(self, rank, lora_alpha=None):
        """Freezes all weights and adds to each matrix W a trainable product of low rank (Hu et al., 2022).

            W' = W + lora_alpha / rank * A B        A `(rows, rank)`, B `(rank, columns)`, which starts as 0

        Compile the model afterwards. A saved model has the sums W' and has to be compiled again. A quantized
        `ReversibleEmbedding` stays as it is, because Keras would leave A B out of its logits.

        Args:
            rank: of A and B.
            lora_alpha: factor of A B; `None`: the rank.

        Raises:
            ValueError: if LoRA is enabled already, no matrix is trainable, `rank` is no positive integer, or
                Keras cannot add it to a matrix, which has a constraint or a mode of quantization that
                excludes it.

        Reference: https://arxiv.org/abs/2106.09685.
        """
        check_sizes(rank=rank)
        if not self.built:
            self.build()
        both_ways = keras.layers.ReversibleEmbedding
        adapted = [
            layer
            for layer in self._flatten_layers()
            if hasattr(layer, "enable_lora") and layer.trainable and not isinstance(layer, keras.Model)
            if not (isinstance(layer, both_ways) and layer.quantization_mode)
        ]
        frozen = self.trainable_variables
        require(adapted and frozen, "LoRA needs a matrix that is trainable", trainable=self.trainable)
        for layer in adapted:
            layer.enable_lora(rank, lora_alpha=lora_alpha)
        for variable in frozen:
            variable.trainable = False
        self.lora = rank, lora_alpha

    def get_compile_config(self):
        """`None` with LoRA: the sums that are saved have other variables than the optimizer."""
        lora = any(getattr(layer, "lora_enabled", False) for layer in self._flatten_layers())
        return None if lora else super().get_compile_config()

    def get_build_config(self):
        layers = self._flatten_layers() if self.built else []
        return {"quantized": [quantization_of(layer) for layer in layers]}

    def build_from_config(self, config):
        """Makes the weights, and quantizes the layers that were quantized."""
        if not self.built:
            self.build()
        modes = config["quantized"]  # empty for a model that was not built
        with quick_collections():
            for layer, mode in zip(self._flatten_layers() if modes else [], modes, strict=True):
                if mode and not layer.quantization_mode:
                    quantize(layer, mode)

    def make_train_function(self, force=False):
        """Makes all variables before the first step is traced, which TensorFlow would else trace twice."""
        if not self.built:
            self.build()
        if not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)


def _as_python(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
