"""Give a trained RNNsearch more units without changing its translations, so that it can be trained further.

    python experiments/wider_rnnsearch.py tatoeba_en_de_rnnsearch 512 runs/wider
    keraszoo train RECIPE --set model.start_from=runs/wider --set model.overrides.units=512 ...

Takes seconds and prints the largest difference between the logits of the two models.

The trained weights keep their places within each block of units: a gate, a direction of the encoder, a part
of what the readout joins. New units begin with random weights for what they read. The trained units read them
with weights of 0, which the first updates change.

Reference: Chen, Goodfellow and Shlens: Net2Net, 2016, https://arxiv.org/abs/1511.05641, which copies units.
"""

import argparse
import sys

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.models import RNNSearch


def main(name, units, output):
    """Writes the wider translator."""
    trained = Translator.from_preset(name)
    config = trained.model.get_config()
    one_width = isinstance(trained.model, RNNSearch) and config["encoder_layers"] == 1
    one_width = one_width and not config["decoder_units"] and not config["attention_units"]
    if not one_width or config["units"] >= units:
        raise KerasZooError(f"{name}: expected an RNNsearch of one layer and one width below {units} units")
    keras.utils.set_random_seed(1)
    readout_dim = trained.model.readout.units // 2
    model = RNNSearch.from_config({**config, "units": units, "readout_dim": readout_dim})
    model.build()
    for old, new in zip(trained.model.weights, model.weights, strict=True):
        new.assign(widened(old.numpy(), new.numpy(), config["units"], units))
    wider = Translator(
        model, trained.source_subwords, trained.target_subwords, trained.search, trained.max_source_tokens
    )
    wider.about = trained.about
    wider.save_to_preset(output)

    known = min(len(trained.source_subwords), len(trained.target_subwords))
    tokens = np.random.default_rng(1).integers(4, known, (2, 8, 12))
    logits = [keras.ops.convert_to_numpy(one(tuple(tokens))) for one in (trained.model, model)]
    difference = np.abs(logits[0] - logits[1]).max()
    print(f"{output}: {model.count_params():,} parameters, logits differ by {difference:.1e} at most")


def widened(value, initial, units, new_units):
    """The trained value of a weight within the initial value of the wider one."""
    places = []
    for size, new_size in zip(value.shape, initial.shape, strict=True):
        count = (new_size - size) // (new_units - units)  # blocks of units
        blocks = [(units, new_units)] * count
        if size > count * units:  # the readout's second part is the embedding of the previous word
            blocks.insert(1, (size - count * units,) * 2)
        starts = np.cumsum([0] + [wide for _, wide in blocks])
        parts = [start + np.arange(old) for start, (old, _) in zip(starts, blocks, strict=False)]
        places.append(np.concatenate(parts))
    result = initial.copy()
    if value.ndim == 2:
        result[:, places[1]] = 0  # what trained units read from new ones
    result[np.ix_(*places)] = value
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="name or directory of a translator of RNNsearch")
    parser.add_argument("units", type=int, help="of each direction of the encoder, and of the decoder")
    parser.add_argument("output", help="directory to write")
    given = parser.parse_args()
    try:
        main(given.model, given.units, given.output)
    except KerasZooError as error:
        sys.exit(f"wider_rnnsearch.py: {error}")
