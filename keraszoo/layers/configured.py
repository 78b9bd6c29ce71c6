"""Layers and models whose constructor arguments are their configuration."""

import inspect

import keras
import numpy as np


class Configured:
    """Records the arguments of the constructor as the configuration of a layer or model.

    A class lists it before the Keras class it derives from. Keras records arguments too, but drops the record
    if one of them is an object, such as a dtype policy. Arguments of base classes, which come as `**kwargs`,
    belong to the record; positional-only parameters of base classes and arguments that are layers do not.

    Attributes:
        arguments: dict of name -> value, defaults included.

    Example:

    >>> class Scale(Configured, keras.layers.Layer):
    ...     def __init__(self, factor, offset=0, **kwargs):
    ...         super().__init__(**kwargs)
    >>> Scale(3).arguments
    {'factor': 3, 'offset': 0}
    """

    def __new__(cls, *args, **kwargs):
        instance = super().__new__(cls, *args, **kwargs)
        signature = inspect.signature(cls.__init__)
        given = signature.bind_partial(None, *args, **kwargs).arguments
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given |= given.pop(name, {})
        values = {}
        for name, parameter in cls.constructor_parameters().items():
            value = given.get(name, parameter.default)
            values[name] = value.item() if isinstance(value, np.generic) else value  # JSON knows no NumPy
            if isinstance(parameter.default, bool) and not isinstance(values[name], bool):
                raise ValueError(f"{name} must be True or False. Received: {name}={values[name]!r}")
        layer = keras.layers.Layer
        vars(instance)["arguments"] = {k: v for k, v in values.items() if not isinstance(v, layer)}
        return instance

    @classmethod
    def constructor_parameters(cls):
        """All arguments of the constructor: dict of name -> `inspect.Parameter`."""
        parameters = {}
        for base in reversed(cls.__mro__[: cls.__mro__.index(Configured)]):
            if "__init__" in vars(base):
                own = inspect.signature(base.__init__).parameters
                named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
                parameters |= {k: p for k, p in own.items() if p.kind in named}
        parameters.pop("self", None)
        return parameters

    def get_config(self):
        base = super().get_config()
        serialize = keras.saving.serialize_keras_object
        for name, value in self.arguments.items():
            if value is inspect.Parameter.empty:  # it came by `*args`
                raise TypeError(f"{type(self).__name__} cannot be saved: its __init__ must name {name}.")
        own = {k: serialize(v) if callable(v) else v for k, v in self.arguments.items() if k not in base}
        return {**base, **own}
