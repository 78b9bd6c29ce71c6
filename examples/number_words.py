"""Translates numbers from English to German words: from generated data to a SavedModel.

    make demo      # or: pip install --editable '.[demo]' and python examples/number_words.py --quick

"twenty-one" is "einundzwanzig": the order is reversed, and RNNsearch has to learn where to attend. `make
demo` trains on 4,000 numbers below ten thousand. Without `--quick` the script trains on 20,000 below a
million; after about three minutes on 2 cores it translates all of 1,000 held-out numbers exactly.

The name of another model of the lineage, and arguments of its constructor, train that model in about two
minutes on one core:

    python examples/number_words.py rnnencdec       # 99.3 %: one vector, Cho 2014
    python examples/number_words.py deeplstm        # 99.9 %: two LSTMs of two layers, Sutskever 2014
    python examples/number_words.py simplified      # 100.0 %: attention without gates
    python examples/number_words.py luong           # 100.0 %: attention after the step, Luong 2015
    python examples/number_words.py luong window=predictive half_width=3    # 100.0 %: seven at a time
    python examples/number_words.py gnmt            # residual LSTMs of three layers, Wu 2016
    python examples/number_words.py convs2s         # 99.7 %: gated convolutions, Gehring 2017
    python examples/number_words.py transformer     # 99.9 %: Vaswani 2017

They export and translate as RNNsearch does. Models with attention also draw their weights.
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import yaml
from num2words import num2words

from keraszoo import Translator
from keraszoo.registry import model_classes
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords

# 0.25 to 0.6 million parameters each.
RECURRENT = {"embedding_dim": 64, "units": 128, "dropout": 0.1}
SIZES = {
    "rnnencdec": RECURRENT | {"units": 192},
    "deeplstm": RECURRENT | {"num_layers": 2},
    "simplified": RECURRENT | {"units": 192},
    "rnnsearch": RECURRENT,
    "luong": RECURRENT | {"num_layers": 1},
    "gnmt": RECURRENT | {"units": 96, "num_layers": 3},
    "convs2s": {"embedding_dim": 96, "units": 96, "num_layers": 2, "dropout": 0.1, "max_positions": 64},
    "transformer": {
        "d_model": 96,
        "num_layers": 2,
        "num_heads": 4,
        "intermediate_dim": 384,
        "pre_norm": True,
        "tie_embeddings": "target",
    },
}

# The amount of data and work, and the number whose attention is drawn.
FULL = {
    "count": 20_000,
    "maximum": 999_999,
    "training": {"epochs": 8, "batch_tokens": 2048},
    "warmup_steps": 200,
    "search": SearchOptions(),
    "drawn": "four hundred and twenty-one thousand, seven hundred and thirty-five",
}
QUICK = {
    "count": 4_000,
    "maximum": 9_999,
    "training": {"epochs": 4, "batch_tokens": 1024},
    "warmup_steps": 50,
    "search": SearchOptions(beam_width=1),
    "drawn": "four thousand, seven hundred and thirty-five",
}

# A server needs TensorFlow and its text operations; neither Keras nor keraszoo is imported.
SERVER = """
import sys
import tensorflow as tf
import tensorflow_text

translate = tf.saved_model.load(sys.argv[1]).signatures["translate"]
answers = translate(text=tf.constant(sys.argv[2:]))
translations, log_probs = (answers[name].numpy() for name in ("translation", "log_prob"))
for text, translation, log_prob in zip(sys.argv[2:], translations, log_probs):
    print(f"  {text} -> {translation.decode()} (log-probability {log_prob:.4f})")
"""


def number_pairs(numbers):
    """Pairs of numbers in words, (English, German)."""
    return [(num2words(n, lang="en"), num2words(n, lang="de")) for n in numbers]


def split_numbers(count_train, count_test, maximum, seed):
    """Draws distinct numbers up to `maximum` by a seed; returns those to train and those to test on.

    Each number of digits has an equal share, as far as there are enough numbers. Numbers up to 20 have words
    of their own and are all in the training part. The test part has new combinations of known words.
    """
    draw, drawn, own = random.Random(seed), [], list(range(21))
    edges = [*(edge for edge in (21, 100, 1_000, 10_000, 100_000) if edge <= maximum), maximum + 1]
    ranges = sorted(map(range, edges, edges[1:]), key=len)  # short ranges first; the long ones share the rest
    for i, numbers in enumerate(ranges):
        share = (count_train + count_test - len(own) - len(drawn)) // (len(ranges) - i)
        drawn += draw.sample(numbers, min(share, len(numbers)))
    draw.shuffle(drawn)
    train = own + drawn[count_test:]
    draw.shuffle(train)
    return train, drawn[:count_test]


def arguments():
    """What stands on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", choices=SIZES, default="rnnsearch")
    parser.add_argument("settings", nargs="*", help="arguments of the model, such as units=64")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller numbers, greedy search")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for setting in options.settings:
        if "=" not in setting:
            parser.error(f"a setting is NAME=VALUE, such as units=64. Received: {setting!r}")
    return options


def main():
    """Trains, scores, exports, translates and draws."""
    options = arguments()
    work = QUICK if options.quick else FULL
    settings = {name: yaml.safe_load(value) for name, value in (s.split("=", 1) for s in options.settings)}
    folder = Path("runs/number_words", options.model)
    started = time.perf_counter()
    keras.utils.set_random_seed(options.seed)

    # 1. Pairs of texts, (English, German). Those of validation choose the weights, those of test judge them.
    train, held_out = split_numbers(work["count"], 1_300, maximum=work["maximum"], seed=options.seed)
    train, validation, test = map(number_pairs, (train, held_out[:300], held_out[300:]))
    print(f"{len(train):,} numbers to train on, such as {' = '.join(train[0])}")

    # 2. Subwords of each language, a model, and both joined. So few German ones are ein, und, zwan, zig.
    english = Subwords.train([source for source, _ in train], vocabulary_size=100)
    german = Subwords.train([target for _, target in train], vocabulary_size=68)
    sizes = {**SIZES[options.model], **settings}
    kind = model_classes("translation")[options.model]
    model = kind(english.vocabulary_size, german.vocabulary_size, **sizes)
    translator = Translator(model, english, german, work["search"])
    print(f"{type(model).__name__}, {model.count_params():,} parameters")

    # 3. Training.
    optimizer = {
        "schedule": "inverse_sqrt",
        "learning_rate": 4e-3,
        "warmup_steps": work["warmup_steps"],
        "global_clipnorm": 1.0,
    }
    translator.fit(
        train,
        validation,
        directory=folder / "model",
        **work["training"],
        seed=options.seed,
        label_smoothing=0.0,
        monitor="val_loss",  # a number is one word in German: there are no four in a row for BLEU to count
        optimizer=optimizer,
    )

    # 4. How many numbers are exactly right that neither the training nor the choice of weights has seen?
    sources, references = map(list, zip(*test, strict=True))
    translations = translator.translate(sources)
    right = sum(map(str.__eq__, translations, references))
    print(f"{right / len(test):.1%} of {len(test):,} held-out numbers are exactly right")

    # 5. A SavedModel, and a process of its own that translates with it.
    translator.export(folder / "saved_model")
    print(f"The SavedModel in {folder / 'saved_model'} says:", flush=True)
    server = [sys.executable, "-c", SERVER, folder / "saved_model", *sources[:5]]
    subprocess.run(server, check=True, stderr=subprocess.DEVNULL)

    # 6. Where the model looked when it wrote each subword, if it has attention.
    (drawn,) = translator.translate_details([work["drawn"]])
    if model.attends:
        picture = folder / "attention.png"
        drawn.plot(picture, subwords=True, title=drawn.text)
        print(f"{picture} shows the attention of one translation")
    print(f"That took {time.perf_counter() - started:.0f} seconds")


if __name__ == "__main__":
    main()
