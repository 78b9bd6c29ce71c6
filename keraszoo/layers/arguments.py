"""Checks of arguments that many layers share, and the arguments of a class."""

import inspect
import numbers


def check_sizes(**sizes):
    """Raises an error that names the first size that is not a positive integer.

    >>> check_sizes(num_layers=3, units=None)
    Traceback (most recent call last):
    ValueError: units must be a positive integer, such as units=64. Received: units=None
    """
    for name, size in sizes.items():
        fits = isinstance(size, numbers.Integral) and not isinstance(size, bool) and size > 0
        hint = f", such as {name}=64" if size is None else ""
        require(fits, f"{name} must be a positive integer{hint}", **{name: size})


def check_optional_sizes(**sizes):
    """Like `check_sizes`, but skips sizes that are `None`."""
    check_sizes(**{name: size for name, size in sizes.items() if size is not None})


def require(fits, wanted, /, **received):
    """Raises a ValueError that says what is wanted and what was received, unless `fits` is true.

    >>> require(1 % 2 == 0, "window must be even", window=1)
    Traceback (most recent call last):
    ValueError: window must be even. Received: window=1
    """
    if not fits:
        shown = ", ".join(f"{name}={value!r}" for name, value in received.items())
        raise ValueError(f"{wanted}. Received: {shown}")


def require_shapes(fits, wanted, /, **shapes):
    """Like `require`, for the shapes of tensors, by their names."""
    require(fits, wanted, **{f"{name}.shape": shape for name, shape in shapes.items()})


def check_choices(choices, **given):
    """Raises an error that names the first argument that is not one of the choices."""
    for name, value in given.items():
        require(value in choices, f"{name} must be one of {choices}", **{name: value})


def shapes_fit(shape, wanted, broadcast=False):
    """Whether a static shape may be the wanted one; `None` fits every size.

    With `broadcast`, every size but the last may also be 1.

    >>> shapes_fit((2, None), (2, 3)), shapes_fit((2, 3), (3, 2)), shapes_fit((1, 3), (2, 3), broadcast=True)
    (True, False, True)
    """
    return len(shape) == len(wanted) and all(
        None in (size, other) or size == other or (broadcast and size == 1 and i < len(wanted) - 1)
        for i, (size, other) in enumerate(zip(shape, wanted, strict=True))
    )


def constructor_arguments(kind):
    """The arguments of a class: those of its constructor, and of its bases where it takes `**kwargs`.

    Returns:
        dict of name -> `inspect.Parameter`; those of Keras' own classes are left out.
    """
    arguments = {}
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "keras":
            break
        if "__init__" in vars(base):
            own = inspect.signature(base.__init__).parameters.values()
            named = {p.name: p for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
            arguments = {**named, **arguments}
            if not any(p.kind is p.VAR_KEYWORD for p in own):
                break
    for name in ("self", "name", "dtype", "trainable"):
        arguments.pop(name, None)
    return arguments
