"""The checks of the inputs and masks of an attention layer."""

from keraszoo.layers.arguments import require, require_shapes, shapes_fit


def check_shapes(query, value, key=None, heads=None, **masks):
    """Raises a ValueError if static shapes of inputs and masks do not fit; `None` fits every size."""
    single = not any(isinstance(size, (list, tuple)) for size in query)
    wanted = "Inputs are separate arguments: call layer(query, value), not layer([query, value])"
    require_shapes(single, wanted, query=query)
    wanted = "value is missing: call layer(query, value), or, if it is built, layer(query, prepared=...)"
    require(value is not None, wanted, value=value)
    wanted = "query must be (batch, length, width) or, for one step, (batch, width)"
    require_shapes(len(query) in (2, 3), wanted, query=query)
    batch, steps, length = query[0], query[1:-1] or (1,), (*value, None)[1]
    pairs = [(*steps, length), (batch, *steps, length), *([(batch, heads, *steps, length)] if heads else [])]
    text = "(query length, value length) or (batch, query length, value length)"
    rules = {
        "value": ([(batch, None, None)], "(batch, length, width)"),
        "key": ([(batch, length, None)], "(batch, value length, width)"),
        "query_mask": ([query[:-1]], "(batch, query length) or, for one step, (batch,)"),
        "value_mask": ([(batch, length)], "(batch, value length)"),
        "key_mask": ([(batch, length)], "(batch, value length)"),
        "attention_mask": (pairs, text + " or (batch, heads, query length, value length)" * bool(heads)),
    }
    for name, given in {"value": value, "key": key, **masks}.items():
        shapes, text = rules[name]
        broadcast = name == "attention_mask"
        fits = given is None or any(shapes_fit(given, shape, broadcast) for shape in shapes)
        require_shapes(fits, f"{name} must be {text}", **{name: given, "query": query, "value": value})


def check_inputs(layer, others, query, value, key, prepared, **masks):
    """Raises a `ValueError` if the arguments of an attention's call do not fit; `others` are unknown."""
    wanted = (
        f"{type(layer).__name__} has no such argument. Masks are passed as value_mask or attention_mask, and "
        "attention weights are always returned"
    )
    require(not others, wanted, **others)
    shapes = {"query": static_shape(query), "value": static_shape(value), "key": static_shape(key)}
    if prepared is not None:
        one = value is None and key is None
        require_shapes(one, "Pass either value and key or prepared", value=shapes["value"], key=shapes["key"])
        batch, *_, length, width = static_shape(prepared[1])  # with heads: (B, H, S, d_v)
        shapes["value"] = (batch, length, width)
    masks = {name: static_shape(mask) for name, mask in masks.items()}
    check_shapes(**shapes, heads=getattr(layer, "num_heads", None), **masks)


def static_shape(x):
    """The shape of a tensor, with `None` for a size that is not known, also where JAX has a symbol for it."""
    if isinstance(x, (list, tuple)):
        return tuple(map(static_shape, x))
    return None if x is None else tuple(size if isinstance(size, int) else None for size in x.shape)
