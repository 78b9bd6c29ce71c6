"""Compiled functions of a model, made again when its layers have changed."""


def renewed(make):
    """A property with what `make(self)` returns, for an object with a `model`.

    It is made when it is first used, and again after a layer was quantized or got LoRA: a graph that was
    traced before would go on with the old weights. Only layers with `enable_lora` are looked at, such as
    `Dense` and `Embedding`: Keras can quantize no others.
    """
    name = f"_{make.__name__}"

    def get(self):
        layers, state, made = vars(self).get(name, ((), None, None))
        if state is None or state != _state(layers):
            layers = [layer for layer in self.model._flatten_layers() if hasattr(layer, "enable_lora")]
            made = make(self)
            vars(self)[name] = layers, _state(layers), made
        return made

    return property(get, doc=make.__doc__)


def _state(layers):
    return [(layer.quantization_mode, getattr(layer, "lora_enabled", False)) for layer in layers]
