"""Layers whose configuration is the arguments of their constructor."""

import types

import keras

from keraszoo.layers.arguments import constructor_arguments


class ConfiguredLayer(keras.layers.Layer):
    """Base of the layers that keep each argument of their constructor as an attribute of its name.

    An argument may be a layer. A layer that keeps one otherwise adds it to the config.
    """

    def get_config(self):
        names = [name for name in constructor_arguments(type(self)) if hasattr(self, name)]
        return {**super().get_config(), **{name: _serialized(getattr(self, name)) for name in names}}

    @classmethod
    def from_config(cls, config):
        read = keras.saving.deserialize_keras_object
        own = {name: value for name, value in config.items() if name != "dtype" and isinstance(value, dict)}
        own = {name: read(value) for name, value in own.items() if "class_name" in value}
        return super().from_config({**config, **own})


def _serialized(value):
    if isinstance(value, types.FunctionType):  # an activation
        return keras.activations.serialize(value)
    return keras.saving.serialize_keras_object(value)
