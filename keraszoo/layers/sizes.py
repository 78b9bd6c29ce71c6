"""Widths and numbers of layers, checked where they are given and not where they break."""


def check_sizes(**sizes):
    """An error that names the first size that is not a positive integer.

    >>> check_sizes(units=3, num_layers=0)
    Traceback (most recent call last):
    ValueError: num_layers must be a positive integer. Received: num_layers=0
    """
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"{name} must be a positive integer. Received: {name}={size!r}")


def check_optional_sizes(**sizes):
    """The same of those that are not `None`."""
    check_sizes(**{name: size for name, size in sizes.items() if size is not None})
