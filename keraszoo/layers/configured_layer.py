"""Layers whose configuration is the arguments of their constructor."""

import types

import keras

from keraszoo.layers.arguments import constructor_arguments


class ConfiguredLayer(keras.layers.Layer):
    """Base of the layers that keep each argument of their constructor as an attribute of its name.

    An argument may be a layer. A layer that keeps one otherwise adds it to the config.
    """

    def get_config(self):
        return {**super().get_config(), **serialized(self)}

    @classmethod
    def from_config(cls, config):
        return super().from_config(deserialized(config))


def serialized(layer):
    """The arguments of a layer's constructor that it has as attributes, for its config: a dict."""
    names = [name for name in constructor_arguments(type(layer)) if hasattr(layer, name)]
    return {name: _serialized(getattr(layer, name)) for name in names}


def _serialized(value):
    if isinstance(value, types.FunctionType):  # an activation
        return keras.activations.serialize(value)
    return keras.saving.serialize_keras_object(value)


def deserialized(config):
    """A config with the layers and other objects of Keras that were serialized in it."""
    read = keras.saving.deserialize_keras_object
    own = {name: value for name, value in config.items() if name != "dtype" and isinstance(value, dict)}
    return {**config, **{name: read(value) for name, value in own.items() if "registered_name" in value}}
