"""Models with named configurations."""

import keras

from keraszoo.layers.configured import Configured


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
        return cls(**{**cls.configurations[name], **arguments})

    def make_train_function(self, force=False):
        """Makes weights and the optimizer's variables before the first step is traced.

        Made within it, each of them would add operations to the graph, which TensorFlow would trace twice.
        """
        if not self.built:
            self.build()
        if not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)
