"""Other names in the sentences of a corpus: a tagger then learns more from context and spelling.

`NameSwaps` puts names of lists where a corpus has persons and places, and other organisations of the corpora
where it has one. examples/crf_per_corpus.py does so in the copies of sentences that it repeats in an epoch.
"""

import csv
import random
from dataclasses import replace

from keraszoo.text.lines import read_lines
from keraszoo.text.tag_schemes import spans, tags_of

SHARE = 0.5  # of the names that may be replaced


class NameSwaps:
    """Replaces places and organisations of one to three words, and persons of one or two; see the module.

    Args:
        folder: firstnames.txt.gz and surnames_us.txt.gz, a name per line, and world-cities.csv.gz, whose
            first column is the city.
        corpora: Lists of sentences, whose organisations are used.
        seed: Number of the random sequence.
    """

    def __init__(self, folder, corpora, seed):
        self.random = random.Random(seed)
        self.first_names, self.surnames = (
            [name.strip() for name in read_lines(folder / f"{file}.txt.gz") if name.strip()]
            for file in ("firstnames", "surnames_us")
        )
        _, *cities = csv.reader(read_lines(folder / "world-cities.csv.gz"))
        self.cities = sorted({name for name, *_ in cities})
        self.organisations = sorted(
            {
                sentence.tokens[span.start : span.end]
                for corpus in corpora
                for sentence in corpus
                for span in spans(sentence.tags, "IOB2")
                if span.label == "ORG"
            }
        )

    def __call__(self, sentence):
        """Returns the sentence with about half of its names replaced."""
        tokens, found, end = [], [], 0
        for span in spans(sentence.tags, "IOB2"):
            tokens += sentence.tokens[end : span.start]
            start, end = len(tokens), span.end
            tokens += self.other(span.label, sentence.tokens[span.start : end])
            found.append(span._replace(start=start, end=len(tokens)))
        tokens += sentence.tokens[end:]
        return replace(sentence, tokens=tuple(tokens), tags=tags_of(found, len(tokens), "IOB2"))

    def other(self, label, name):
        """Another name of the same kind, or the same one."""
        usual = all(token[:1].isupper() and token[1:].islower() for token in name)
        if not usual or len(name) > 3 or self.random.random() > SHARE:
            return name
        if label == "PER" and len(name) == 1:
            return (self.random.choice(self.random.choice([self.first_names, self.surnames])),)
        if label == "PER" and len(name) == 2:
            return self.random.choice(self.first_names), self.random.choice(self.surnames)
        if label == "LOC":
            return tuple(self.random.choice(self.cities).split())
        return self.random.choice(self.organisations) if label == "ORG" else name
