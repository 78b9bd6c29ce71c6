"""Measures decoding speed of an exported SavedModel with the weights that all contestants share.

A batch is split into one part for each thread; operations run on one thread each.
"""

import common_work
import kit

arguments = common_work.start("decode-speed", threads_per_operation=1)

import tensorflow as tf  # noqa: E402
from keras.utils import pad_sequences  # noqa: E402

from keraszoo import Translator  # noqa: E402
from keraszoo.search import SearchOptions  # noqa: E402
from keraszoo.tasks.batch_threads import in_threads  # noqa: E402
from keraszoo.text.subwords import Subwords  # noqa: E402

model = common_work.make_model("transformer")
common_work.take_weights(model, arguments.weights)
subwords = Subwords.load(arguments.prep / "spm.model")
signatures, compiled = {}, arguments.variant != "plain"
for beam in {beam for beam, _ in kit.decode_settings(arguments)}:
    options = SearchOptions(beam_width=beam, max_length=60, length_penalty=1.0, normalization="length")
    place = arguments.work / f"saved_model.b{beam}"
    Translator(model, subwords, search=options).export(place, jit_compile=compiled)
    signatures[beam] = tf.saved_model.load(str(place / "ids")).signatures["translate"]


def translate(rows, beam):
    """Translates lists of ids to lists of ids."""
    parts = arguments.threads if len(rows) >= 16 * arguments.threads else 1
    found = in_threads(lambda i: translate_part(rows[i::parts], beam), range(parts), parts)
    results = [None] * len(rows)
    for i, some in enumerate(found):
        results[i::parts] = some
    return results


def translate_part(rows, beam):
    """Translates lists of ids in one batch, on the calling thread."""
    longest = max(map(len, rows)) + 1
    rows = [[*row, common_work.END] for row in rows]
    source = pad_sequences(rows, longest, padding="post", value=common_work.PAD)
    outputs = signatures[beam](source_ids=tf.constant(source))
    tokens, lengths = outputs["tokens"].numpy(), outputs["lengths"].numpy()
    return [
        [token for token in row[:length].tolist() if token != common_work.END]
        for row, length in zip(tokens, lengths, strict=True)
    ]


for length in (4, 12, 24, 40):  # single sentences are compiled once for each of a few lengths
    for beam in signatures:
        translate([[5] * length], beam)
version, backend = common_work.versions()
kit.time_decoding(
    arguments,
    "keraszoo",
    version,
    translate,
    extra={"backend": backend, "as": "SavedModel", "jit_compile": compiled},
)
