"""Where the time of translating goes: TensorFlow's profile of an exported translator, by kind of operation.

    python benchmarks/decode_profile.py tatoeba_en_de_transformer TEXT

TEXT has a sentence a line. The first 40 are translated one at a time and the first 256 in batches of 64, by
greedy search and with a beam of 5, in one thread, after a pass that compiles. Prints a Markdown table:
milliseconds per sentence and the share of each kind. XLA fuses operations, so its parts are less exact.
"""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import Translator
from keraszoo.text.lines import read_lines

# The first pattern that an event matches decides: `path:Type` of an operation, a thunk of XLA, or a stage.
KINDS = {
    "waiting": r"BlockUntil|^Run|::Run",
    "SentencePiece": r"Sentencepiece",
    "encoder": r"encoder_",
    "products": r"FusedMatMul|_MklMatMul|:MatMul|^dot|^copy_dot|^MatMul|^ynn",
    "attention": r"BatchMatMul|StatefulPartitionedCall/Softmax|subtract_exponential|Transpose",
    "best words": r"TopK|custom-call|ArgMax|:Exp$|:Max$|LogSumExp|while/Softmax|iota_reduce",
    "cache": r"SelectV2|Gather|Scatter|:Pad|ConcatV2|copy|select|gather|concatenate",
    "launching": r"Execut|^Start|Done|^while",
    "Python": r"signature_wrapper|FunctionRun|Eager|TFE_|^__",
    "other": r"",
}


def times(space):
    """Seconds of every kind: each event without the events within it, on the threads of the host."""
    seconds = Counter()
    for plane in space.planes:
        for line in plane.lines:
            open_events = []
            for event in sorted(line.events, key=lambda event: (event.offset_ps, -event.duration_ps)):
                name = plane.event_metadata[event.metadata_id].name
                kind = next(kind for kind, pattern in KINDS.items() if re.search(pattern, name))
                while open_events and open_events[-1][0] <= event.offset_ps:
                    open_events.pop()
                if open_events:
                    seconds[open_events[-1][1]] -= event.duration_ps / 1e12
                seconds[kind] += event.duration_ps / 1e12
                open_events.append((event.offset_ps + event.duration_ps, kind))
    del seconds["waiting"]  # for another thread
    return seconds


def main(model, path):
    """Prints the table of a translator, on the lines of a file."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - its operations
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    texts, translator = list(read_lines(path)), Translator.from_preset(model)
    kinds = [*KINDS][1:]
    print("| beam | batch | ms a sentence |", " | ".join(kinds), "|")
    print("|---" * (3 + len(kinds)), "|", sep="")
    for width in (1, 5):
        with tempfile.TemporaryDirectory() as folder:
            translator.search = translator.search.replace(beam_width=width)
            translator.export(Path(folder, "model"))
            translate = tf.saved_model.load(str(Path(folder, "model"))).signatures["translate"]
            for size, some in ((1, texts[:40]), (64, texts[:256])):
                batches = [tf.constant(some[i : i + size]) for i in range(0, len(some), size)]
                for batch in batches:
                    translate(text=batch)
                log = Path(folder, f"log{size}")
                with tf.profiler.experimental.Profile(str(log)):
                    for batch in batches:
                        translate(text=batch)
                space = xplane_pb2.XSpace.FromString(next(log.rglob("*.xplane.pb")).read_bytes())
                seconds = times(space)
                shares = [f"{100 * seconds[kind] / seconds.total():.0f} %" for kind in kinds]
                spent = f"{1000 * seconds.total() / len(some):.1f}"
                print("|", " | ".join([str(width), str(size), spent, *shares]), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 3 else sys.exit(__doc__)
