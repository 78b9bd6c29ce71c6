"""Models of named sizes."""


class Presets:
    """A class of models with presets: sizes of the papers, and smaller ones.

    Attributes:
        presets: dict of name -> arguments.
    """

    presets = {}

    @classmethod
    def preset(cls, name, **arguments):
        """A model of named sizes: `cls.presets[name]`, with `arguments` added and winning.

        Raises:
            ValueError: if there is no preset of that name.
        """
        if name not in cls.presets:
            raise ValueError(f"{cls.__name__} has the presets {sorted(cls.presets)}. Received: {name!r}")
        return cls(**{**cls.presets[name], **arguments})
