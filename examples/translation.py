"""Trains a translator on two text files, translations of each other line by line, and exports a SavedModel.

    python examples/translation.py train.en train.de val.en val.de runs/english_german [epochs=20 ...]

On the 29,000 captions of Multi30k, with the default settings, it takes 14 minutes on 2 cores
and reaches 37.0 BLEU on the validation pairs. The files may be gzipped. The last arguments are training
settings, listed in `keraszoo.recipes.sections.FitSection`. `keraszoo train` does the same from a recipe:
examples/recipes/translation.yaml is one.
"""

import itertools
import sys

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import yaml

from keraszoo import Translator
from keraszoo.models import Transformer
from keraszoo.search import SearchOptions
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords

SETTINGS = {"epochs": 10, "batch_tokens": 1024}


def main(train_source, train_target, validation_source, validation_target, output, *settings):
    """Trains a small Transformer, saves it, exports it and translates a few sentences."""
    given = dict(setting.split("=", 1) for setting in settings)
    given = {name: yaml.safe_load(value) for name, value in given.items()}
    keras.utils.set_random_seed(given.get("seed", 1))

    # One vocabulary for both languages, so that source, target and output share their embeddings.
    both_languages = itertools.chain.from_iterable(read_pairs(train_source, train_target))
    subwords = Subwords.train(both_languages, vocabulary_size=6000)
    corpus = ParallelCorpus.from_pairs(
        read_pairs(train_source, train_target), subwords, subwords, max_length=100
    )
    validation = list(read_pairs(validation_source, validation_target))

    sizes = {"d_model": 160, "num_layers": 2, "num_heads": 4, "intermediate_dim": 448}
    model = Transformer(subwords.vocabulary_size, **sizes, dropout=0.1, pre_norm=True)
    translator = Translator(model, subwords, search=SearchOptions(beam_width=5, max_length=100))
    print(f"{model.count_params():,} parameters, {len(corpus):,} training pairs, dropped: {corpus.dropped}")

    # Saves the translator whenever its BLEU on the validation pairs is the best so far.
    optimizer = {
        "schedule": "inverse_sqrt",
        "learning_rate": 0.003,
        "warmup_steps": 500,
        "global_clipnorm": 1.0,
    }
    translator.fit(corpus, validation, f"{output}/model", **{**SETTINGS, "optimizer": optimizer, **given})

    sources, references = map(list, zip(*validation, strict=True))
    print(translator.evaluate(sources, references))
    for translation in translator.translate_details(sources[:3]):
        print(f"{translation.log_prob:8.3f}  {translation.text}")

    translator.export(f"{output}/saved_model")
    count = translator.verify_export(f"{output}/saved_model", sources[:100])
    print(f"{output}/saved_model: {count} translations equal those in Python")


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
