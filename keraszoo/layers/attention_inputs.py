"""The checks of the inputs and masks of an attention layer."""

from keraszoo.layers.arguments import require, require_shapes, shapes_fit


def check_shapes(query, value, key=None, heads=None, attention_mask=None, **masks):
    """Raises a `ValueError` if static shapes of the inputs do not fit each other; `None` fits every size.

    Args:
        query, value, key, attention_mask: shapes.
        heads: of the attention weights, if they have heads.
        masks: shapes of `query_mask`, `value_mask` and `key_mask`.
    """
    single = all(size is None or isinstance(size, int) for size in query)
    wanted = "Inputs are separate arguments: call layer(query, value), not layer([query, value])"
    require_shapes(single, wanted, query=query)
    wanted = "value is missing: call layer(query, value), or, if it is built, layer(query, prepared=...)"
    require(value is not None, wanted, value=value)
    wanted = "query must be (batch, length, width) or, for one step, (batch, width)"
    require_shapes(len(query) in (2, 3), wanted, query=query)
    batch, steps, length = query[0], query[1:-1] or (1,), (*value, None)[1]
    rules = {
        "value": ((batch, None, None), "(batch, length, width)"),
        "key": ((batch, length, None), "(batch, value length, width)"),
        "query_mask": (query[:-1], "(batch, query length) or, for one step, (batch,)"),
        "value_mask": ((batch, length), "(batch, value length)"),
        "key_mask": ((batch, length), "(batch, value length)"),
    }
    for name, shape in {"value": value, "key": key, **masks}.items():
        fits = shape is None or shapes_fit(shape, rules[name][0])
        shapes = {name: shape, "query": query, "value": value}
        require_shapes(fits, f"{name} must be {rules[name][1]}", **shapes)
    if attention_mask is not None:
        rules = {2: (*steps, length), 3: (batch, *steps, length), 4: heads and (batch, heads, *steps, length)}
        fits = shapes_fit(attention_mask, rules.get(len(attention_mask)) or (), broadcast=True)
        wanted = "(query length, value length) or (batch, query length, value length)"
        wanted += " or (batch, heads, query length, value length)" if heads else ""
        shapes = {"attention_mask": attention_mask, "query": query, "value": value}
        require_shapes(fits, f"attention_mask must be {wanted}", **shapes)


def check_inputs(layer, others, query, value, key, prepared, **masks):
    """Raises a `ValueError` if the arguments of an attention's call do not fit each other.

    Args:
        layer: the `Attention`.
        others: dict of the arguments that it does not have.
        query, value, key, prepared, masks: as for `Attention`.
    """
    wanted = (
        f"{type(layer).__name__} has no such argument. Masks are passed as value_mask or attention_mask, and "
        "attention weights are always returned"
    )
    require(not others, wanted, **others)
    wanted = "Pass either value and key or prepared"
    require(prepared is None or (value is None and key is None), wanted, value=_shape(value))
    shapes = {"query": _shape(query), "value": _shape(value), "key": _shape(key)}
    if prepared is not None:
        batch, *_, length, width = prepared[1].shape  # with heads: (B, H, S, d_v)
        shapes["value"] = (batch, length, width)
    heads = getattr(layer, "num_heads", None)
    check_shapes(**shapes, heads=heads, **{name: _shape(mask) for name, mask in masks.items()})


def _shape(x):
    if isinstance(x, (list, tuple)):
        return tuple(map(_shape, x))
    return None if x is None else tuple(x.shape)
