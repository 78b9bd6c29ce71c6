"""What was wrong with a recipe, in one line: where, which key, what was expected, what came."""

import difflib
import reprlib

from pydantic import BaseModel

from keraszoo.errors import RecipeError


def recipe_error(problems, model, where, lines):
    """Makes one RecipeError of what pydantic found.

    Args:
        problems: the list that `ValidationError.errors()` returns.
        model: the pydantic model that was being filled.
        where: the recipe's file.
        lines: the place of each key, as `recipe_file.read_yaml` returns it.

    Returns:
        A RecipeError; several problems are joined by semicolons.
    """
    said = [_sentence(problem, model, where, lines) for problem in problems]
    return RecipeError("; ".join(dict.fromkeys(said)))


def unknown_key(where, key, allowed):
    """A RecipeError for a key that is not among those allowed, with the nearest of them."""
    return RecipeError(f"{where}: unknown key{suggestion(key, allowed)}")


def suggestion(key, allowed):
    """The end of an error message that names what may have been meant.

    Args:
        key: what was written.
        allowed: what may be written.

    Returns:
        The names nearest to the key, or all if none is near.

    Example:

    >>> suggestion("epocs", ["seed", "epochs"])
    ', did you mean epochs?'
    >>> suggestion("tempo", ["seed", "epochs"])
    ', expected one of epochs, seed'
    """
    near = difflib.get_close_matches(str(key), allowed, n=3, cutoff=0.6)
    if near:
        ratio = difflib.SequenceMatcher(None, near[0], str(key)).ratio()
        tied = [name for name in near if difflib.SequenceMatcher(None, name, str(key)).ratio() == ratio]
        return f", did you mean {' or '.join(tied)}?"
    return f", expected one of {', '.join(sorted(allowed))}" if allowed else ""


def _sentence(problem, model, where, lines):
    keys = tuple(str(key) for key in problem["loc"])
    place = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), where)
    dotted = ".".join(keys)
    return (
        f"{place}: {dotted}: {_what(problem, model, keys)}"
        if keys
        else f"{place}: {_what(problem, model, keys)}"
    )


def _what(problem, model, keys):
    kind, came = problem["type"], _shown(problem["input"])
    if kind == "extra_forbidden":
        return f"unknown key{_key_suggestion(model, keys)}"
    if kind == "missing":
        return "missing, and there is no default"
    if kind == "value_error":  # raised by a section of ours, in its own words
        return str(problem["ctx"]["error"])
    if kind in ("model_type", "model_attributes_type"):
        section = _section(model, keys)
        known = f" with some of {', '.join(section.model_fields)}" if section else ""
        return f"expected a section{known}, got {came}"
    expected = problem["msg"].replace("Input should be", "expected").replace("a valid string", "text")
    return f"{expected}, got {came}"


def _key_suggestion(model, keys):
    section = _section(model, keys[:-1])
    elsewhere = sorted(".".join(place) for place in _all_keys(model) if place[-1] == keys[-1])
    if elsewhere:
        return f", did you mean {' or '.join(elsewhere)}?"
    return suggestion(keys[-1], list(section.model_fields) if section else [])


def _section(model, keys):
    """The pydantic model that the keys lead to, or None."""
    for key in keys:
        field = model.model_fields.get(key)
        model = _model_in(field.annotation) if field else None
        if model is None:
            return None
    return model


def _model_in(annotation):
    """The section in `Section` or `Section | None`, or None where it is no section."""
    choices = getattr(annotation, "__args__", (annotation,))
    return next((c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _all_keys(model, above=()):
    for name, field in model.model_fields.items():
        yield (*above, name)
        section = _model_in(field.annotation)
        if section:
            yield from _all_keys(section, (*above, name))


_bounded = reprlib.Repr()  # never longer than a few lines, whatever the value holds


def _shown(value):
    text = _bounded.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
