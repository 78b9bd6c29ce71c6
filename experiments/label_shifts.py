"""Adds a number to the scores of each label of a tagger, so that it finds as many entities as it should.

    python experiments/label_shifts.py english_entities runs/entities/english/validation.tsv \\
        --corpus general --output runs/shifted

A tagger that learned from other text than it will read can prefer one label too much. With a number b for
each label, 0 for `O`, the scores of the tags become

    s'_t(y) = s_t(y) + b_label(y)

First, one number is chosen for all labels, from -1 to 1 in steps of 0.1: the one with the best F1 on held-out
sentences, the smallest if several have it. Then each label in turn, the most frequent first, gets the best
number within 0.5 of that. Too few sentences mislead this search, so it also runs on each half of them (every
other block of 50), and the table has the F1 on the other half. If that does not rise, the numbers are worth
nothing. If it does, they may still not suit text of another kind (lab/TRIALS.md).
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np
from entity_corpora import read

from keraszoo import EntityTagger
from keraszoo.compiling import compiled
from keraszoo.errors import KerasZooError
from keraszoo.evaluation.tagging import score_tags
from keraszoo.tagging.compiled_tagger import length_batches
from keraszoo.text.tag_schemes import convert, split_tag

STEPS = sorted((round(0.1 * i, 1) for i in range(-10, 11)), key=abs)
AROUND = [step for step in STEPS if abs(step) <= 0.5]
BLOCK = 50  # sentences
BATCH_TOKENS = 4096


class ShiftedTags:
    """The tags of sentences for any shift of the labels, found once each.

    Args:
        tagger: an `EntityTagger` of one corpus.
        sentences: list of `TaggedSentence`.
    """

    def __init__(self, tagger, sentences):
        self.vocabulary, model = tagger.vocabulary, tagger.model
        self.gold = [sentence.tags for sentence in sentences]
        counts = Counter(split_tag(tag)[1] for tags in self.gold for tag in tags if tag[0] == "B")
        self.labels = sorted(self.vocabulary.labels, key=lambda label: -counts[label])
        self.best_tags = compiled(model.head.decode, model)
        self.scored = []
        for indices in length_batches([len(tags) for tags in self.gold], BATCH_TOKENS):
            features = self.vocabulary.encode([sentences[i].tokens for i in indices])
            self.scored.append((indices, model.mask(features), model(features)))
        self._found = {}

    def f1(self, shifts, chosen):
        """Strict F1 on the sentences with these numbers."""
        key = tuple(shifts[label] for label in self.labels)
        if key not in self._found:
            self._found[key] = self._tags(by_tag(self.vocabulary.tags, shifts))
        found = self._found[key]
        return score_tags([self.gold[i] for i in chosen], [found[i] for i in chosen]).f1.score

    def _tags(self, added):
        found = {}
        for indices, mask, scores in self.scored:
            rows = keras.ops.convert_to_numpy(self.best_tags(scores + added, mask))
            tags = self.vocabulary.decode_tags(rows, [len(self.gold[i]) for i in indices])
            found |= zip(indices, tags, strict=True)
        in_order = (found.get(i, ()) for i in range(len(self.gold)))
        return [list(convert(tags, self.vocabulary.scheme, "IOB2")) for tags in in_order]

    def best(self, chosen):
        """The numbers that the sentences with these numbers prefer: for all labels together, and for each."""
        candidates = [dict.fromkeys(self.labels, step) for step in STEPS]
        together = max(candidates, key=lambda shifts: self.f1(shifts, chosen))
        each = together
        for label in self.labels:
            candidates = [{**each, label: round(each[label] + step, 1)} for step in AROUND]
            each = max(candidates, key=lambda shifts: self.f1(shifts, chosen))
        return together, each


def by_tag(tags, shifts):
    """What each tag gets, float32 `(K,)`."""
    return np.array([0 if tag == "O" else shifts[split_tag(tag)[1]] for tag in tags], "float32")


def main(name, file, corpus, output):
    """Prints a table and, with `output`, writes the tagger with the numbers of all sentences."""
    whole = EntityTagger.from_preset(name, all_corpora=corpus is not None)
    shifted = ShiftedTags(whole.for_corpus(corpus) if corpus else whole, read(Path(file)))
    everything = range(len(shifted.gold))
    halves = [[i for i in everything if i // BLOCK % 2 == half] for half in (0, 1)]
    nothing = dict.fromkeys(shifted.labels, 0.0)
    print("chosen on, tried on, F1 without, all labels alike, each label")
    for chosen, tried in (halves, halves[::-1], (everything, everything)):
        found = shifted.best(chosen)
        scores = (f"{shifted.f1(shifts, tried):.2f}" for shifts in (nothing, *found))
        print(f"{len(chosen):,}, {len(tried):,},", ", ".join(scores), *found, flush=True)
    if output:
        vocabulary, tags = whole.vocabulary.for_corpus(corpus) if corpus else (whole.vocabulary, slice(None))
        bias = keras.ops.convert_to_numpy(whole.model.head.scores.bias).copy()
        bias[tags] += by_tag(vocabulary.tags, found[1])
        whole.model.head.scores.bias.assign(bias)
        whole.save_to_preset(output, dtype="float16")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="name or directory of a tagger")
    parser.add_argument("file", help="held-out sentences, a column file")
    parser.add_argument("--corpus", help="of a tagger of several corpora, the one whose scores get numbers")
    parser.add_argument("--output", help="directory to write")
    try:
        main(**vars(parser.parse_args()))
    except KerasZooError as error:
        sys.exit(f"label_shifts.py: {error}")
