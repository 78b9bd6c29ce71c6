"""Options of kernels and biases, by the names that `keras.layers.Dense` gives them."""

import keras

from keraszoo.layers.configured_layer import ConfiguredLayer
from keraszoo.layers.quantization import INT8_WEIGHTS, exact_inputs, quantization_of

KINDS = "initializer", "regularizer", "constraint"


class Quantizable(ConfiguredLayer):
    """Base of the layers whose config says which of their sublayers are quantized, and how."""

    def policy_of(self, name):
        """The dtype policy of a sublayer: of a quantized layer that is read, that of its path."""
        policy = self.dtype_policy
        if isinstance(policy, keras.dtype_policies.DTypePolicyMap):  # Dense cannot save itself under a map
            paths = [path for path in policy if f"/{path}".endswith(f"/{self.name}/{name}")]
            policy = policy[paths[0]] if paths else policy.default_policy
        return policy

    def get_config(self):
        return {**super().get_config(), **self._quantized()}

    def get_build_config(self):
        config, layers = super().get_build_config(), self._flatten_layers()
        exact = [i for i, layer in enumerate(layers) if quantization_of(layer) == INT8_WEIGHTS]
        return {**config, INT8_WEIGHTS: exact} if exact else config

    def build_from_config(self, config):
        super().build_from_config(config)
        layers = self._flatten_layers()
        for i in (config or {}).get(INT8_WEIGHTS, ()):
            layers[i].quantization_config = exact_inputs()
            layers[i].inputs_quantizer = None

    def _quantized(self):
        """The dtype in the config if sublayers were quantized: a map from their paths to their policies."""
        policies = keras.dtype_policies
        sublayers = [layer for layer in self._flatten_layers() if layer.quantization_mode]
        if not sublayers or isinstance(self.dtype_policy, policies.DTypePolicyMap):
            return {}
        by_path = policies.DTypePolicyMap(self.dtype_policy.name)
        for layer in sublayers:
            by_path[layer.path] = layer.dtype_policy
        return {"dtype": policies.serialize(by_path)}


class KernelOptions(Quantizable):
    """Base of the layers that are made of `Dense` sublayers and pass their options on to them.

    Args:
        kernel_initializer, kernel_regularizer, kernel_constraint: of all kernels, as for
            `keras.layers.Dense`. An initializer of `None` is the default of each sublayer.
        bias_initializer, bias_regularizer, bias_constraint: the same for biases.

    Example:

    >>> class Map(KernelOptions):
    ...     def __init__(self, units, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.W = self.dense(units, "W")
    ...     def call(self, inputs):
    ...         return self.W(inputs)
    >>> layer = Map(2, kernel_initializer="ones", kernel_regularizer="l2")
    >>> layer(keras.ops.ones((1, 3))).shape[-1], round(float(layer.losses[0]), 2)
    (2, 0.06)
    """

    def __init__(
        self,
        kernel_initializer=None,
        bias_initializer=None,
        kernel_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)

    def options(self):
        """The options by name, to pass on to a sublayer that takes them; `None` is left out."""
        names = [f"{weight}_{kind}" for weight in ("kernel", "bias") for kind in KINDS]
        given = {name: getattr(self, name) for name in names}
        return {name: _fresh(option) for name, option in given.items() if option is not None}

    def inherited(self):
        """What sublayers with these options take from this layer: if it is frozen, they are, too."""
        return {**self.options(), "dtype": self.dtype_policy, "trainable": self.trainable}

    def dense(self, units, name, use_bias=False, **defaults):
        """A `Dense` sublayer with these options; `defaults` hold where this layer has no option."""
        options = {**defaults, **self.inherited(), "dtype": self.policy_of(name)}
        return keras.layers.Dense(units, use_bias=use_bias, **options, name=name)


def _fresh(option):
    """A copy of an initializer, which would draw the same numbers for each weight."""
    return option.clone() if isinstance(option, keras.initializers.Initializer) else option
