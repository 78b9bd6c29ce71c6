"""Compiled functions of a model, made again when its layers have changed."""


def renewed(make):
    """A property with what `make(self)` returns, for an object with a `model`.

    It is made when it is first used, and again after a layer was quantized or got LoRA: a graph that was
    traced before would go on with the old weights.

    Example:

    >>> import types
    >>> class Tagger:
    ...     def __init__(self, layer):
    ...         self.model = types.SimpleNamespace(_flatten_layers=lambda: [layer])
    ...     @renewed
    ...     def program(self):
    ...         return object()
    >>> layer = types.SimpleNamespace(quantization_mode=None)
    >>> tagger = Tagger(layer)
    >>> program = tagger.program
    >>> layer.lora_enabled = False
    >>> tagger.program is program
    True
    >>> layer.quantization_mode = "int8"
    >>> tagger.program is program
    False
    """
    name = f"_{make.__name__}"

    def get(self):
        layers = self.model._flatten_layers()
        state = [(layer.quantization_mode, getattr(layer, "lora_enabled", False)) for layer in layers]
        if vars(self).get(name, (None,))[0] != state:
            vars(self)[name] = state, make(self)
        return vars(self)[name][1]

    return property(get, doc=make.__doc__)
