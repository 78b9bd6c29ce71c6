"""Gives a tagger of several corpora one corpus more, of the mean scores of others. Nothing is trained.

    python experiments/opinion_pool.py runs/minilm --corpora wikigold gmb --validation FILE.tsv \
        --output runs/pooled

Every corpus has scores of tags and transitions of its own over a shared encoder. The mean of these weights is
the logarithmic opinion pool of their CRFs (Smith et al. 2005, https://aclanthology.org/P05-1003),

    p(y | x) ~ prod_c p_c(y | x)^(1/n)

The new corpus, `general`, is the first, the default of the saved tagger. A temperature that fits the
sentences of `--validation` divides its scores. `--int8` stores the matrices of the tagger as int8.
"""

import argparse
import dataclasses
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import numpy as np
from entity_corpora import read
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.models.trained_scores import with_tags

NEW = "general"


def pooled(tagger, corpora):
    """A tagger with `NEW` before its other corpora, whose scores are the mean of those of `corpora`."""
    if unknown := set(corpora) - set(tagger.corpora):
        raise KerasZooError(f"the tagger has no corpus {min(unknown)}")
    old = tagger.vocabulary
    labels = [f"{NEW}.{label}" for label in old.for_corpus(corpora[0])[0].labels]
    vocabulary = dataclasses.replace(old, labels=(*labels, *old.labels))
    like = [tag.replace(f"{NEW}.", f"{corpora[0]}.") for tag in vocabulary.tags]
    numbers = [old.tags.index(tag) for tag in like]
    model = with_tags(tagger.model, numbers, vocabulary.transitions())
    own, *others = (vocabulary.for_corpus(corpus)[1] for corpus in (NEW, *corpora))
    for weight in model.head.weights:
        value = ops.convert_to_numpy(weight).copy()
        square = weight is model.head.chain.transitions
        places = [np.ix_(some, some) if square else (..., list(some)) for some in (own, *others)]
        value[places[0]] = np.mean([value[place] for place in places[1:]], axis=0)
        weight.assign(value)
    made = EntityTagger(model, vocabulary, (NEW, *tagger.corpora))
    made.metrics, made.about, made.recipe = dict(tagger.metrics), dict(tagger.about), tagger.recipe
    return made


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tagger", help="a directory")
    parser.add_argument("--corpora", nargs="+", required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    tagger = pooled(EntityTagger.from_preset(options.tagger, all_corpora=True), options.corpora)
    print(f"temperature {tagger.calibrate(read(options.validation), NEW):.2f}")
    if options.int8:
        tagger.quantize("int8")
    tagger.save_to_preset(options.output)


if __name__ == "__main__":
    main()
