"""What tasks share that begin with the weights of a trained model."""

from keraszoo.errors import RecipeError
from keraszoo.messages import say

MOST_SHOWN = 6  # layers of a message


def check_not_quantized(layers, where):
    """Raises RecipeError, beginning with `where`, if a layer of a trained model is quantized.

    Its integers are no weights of a model that is to be trained.
    """
    modes = sorted({layer.quantization_mode for layer in layers} - {None})
    if modes:
        came = f"got one in {' and '.join(modes)}"
        raise RecipeError(f"{where}: expected the model before it was quantized, {came}")


def say_left_out(left, total):
    """Says which parameters of a trained model a new one does not begin with.

    `left` is a dict of layers' names -> how many of each are left out of the `total` that could be copied.
    """
    names = sorted(name for name, count in left.items() if count)
    if names:
        more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
        say(
            f"model.start_from: {sum(left.values()):,} of {total:,} parameters are left out "
            f"({', '.join(names[:MOST_SHOWN])}{more}); `overrides` with its sizes keep them"
        )
