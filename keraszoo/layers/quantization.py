"""Quantizing a layer again as it was, by a name that is saved."""

import contextlib
import gc

import keras

INT8_WEIGHTS = "int8_weights"  # int8 whose layers do not round their inputs


def quantization_of(layer):
    """The mode in which a layer is quantized, `INT8_WEIGHTS`, or `None`."""
    config = getattr(layer, "quantization_config", None)
    exact_inputs = config is not None and config.activation_quantizer is None
    return INT8_WEIGHTS if layer.quantization_mode == "int8" and exact_inputs else layer.quantization_mode


def exact_inputs():
    """The config of Keras that quantizes as `INT8_WEIGHTS`."""
    return keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)


@contextlib.contextmanager
def quick_collections():
    """Collections of garbage skip what exists before: Keras makes one for each weight that it quantizes."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def quantize(layer, name):
    """Quantizes a layer or a model as `quantization_of` names it."""
    if name == INT8_WEIGHTS:
        layer.quantize("int8", config=exact_inputs())
    else:
        layer.quantize(name)
