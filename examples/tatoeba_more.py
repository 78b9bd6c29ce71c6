"""More training pairs for Tatoeba: translations, and sentences with other names and numbers.

    python examples/tatoeba_more.py runs/tatoeba_en_de runs/tatoeba_en_de_more \\
        --pairs forward.tsv back.tsv --names firstnames.txt.gz surnames_us.txt.gz

The first folder is one of examples/tatoeba.py, English to German. The new one has the same held-out files and
a larger `train.tsv`:

- the pairs of the corpus;
- those of `--pairs`, such as sentences that a model has translated in either direction (Nguyen et al. 2019,
  "Data Diversification", https://arxiv.org/abs/1911.01986), without those whose source sentence is held out;
- with `--names`, a copy of most pairs of the corpus about Tom or Mary, with other names on both sides, and
  copies of all pairs in which both sides have the same numbers of two to five digits, with others. The new
  names are drawn evenly from the files. No name or number is new that `tatoeba.py copies` asks for if it gets
  the same files in the same order.
"""

import argparse
import random
import re
import sys

from tatoeba import FILES, names_in, tested_words, write

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.parallel import clean_pairs, read_pairs, words_of

PEOPLE = {"Tom": "Tom", "Mary": "Mar(?:y|ia)"}  # English, and German as a regular expression
NUMBER = r"(?<![\w.,:]){}(?!\w|[.,:]\d)"
COPIES_OF_NUMBERS = 4  # pairs with the same number on both sides are rare
HISSING = ("s", "x", "z", "ß", "ce")  # these names have no s in the German genitive


class OtherWords:
    """Replaces names and numbers that stand on both sides of a pair equally often.

    Args:
        lists: Lists of names; which one is used is drawn first.
        never: Names and numbers that are not used.
        seed: Number of the random sequence.
    """

    def __init__(self, lists, never=(), seed=1):
        self.random = random.Random(seed)
        self.never = never
        self.lists = [[name for name in names if name not in never] for names in lists]

    def names(self, pair):
        """Returns the pair with other names for `PEOPLE`, where this is possible."""
        for english, german in PEOPLE.items():
            name = self.random.choice(self.random.choice(self.lists))
            if name.endswith(HISSING) and re.search(rf"\b{german}s\b", pair[1]):
                continue  # "Toms Hund", but "Max' Hund"
            pair = replaced(pair, (rf"\b{english}\b", rf"\b{german}(?=s?\b)"), name)
        return pair

    def numbers(self, pair):
        """Returns the pair with other numbers, where this is possible."""
        for number in dict.fromkeys(re.findall(NUMBER.format(r"\d{2,5}"), pair[0])):
            new = str(self.random.randrange(10, 10 ** self.random.randint(2, 5)))
            if new not in self.never:
                pair = replaced(pair, (NUMBER.format(number),) * 2, new)
        return pair


def replaced(pair, patterns, new):
    """Returns the pair with `new` for the patterns, if these occur equally often on both sides."""
    sides = [re.subn(pattern, new, side) for pattern, side in zip(patterns, pair, strict=True)]
    return tuple(text for text, _ in sides) if sides[0][1] == sides[1][1] else pair


def enlarge(directory, output, pairs=(), names=()):
    """Writes four files with more training pairs; see the module."""
    train, *held_out = (list(read_pairs(f"{directory}/{name}")) for name in FILES)
    held = {words_of(source) for part in held_out for source, _ in part}
    more = [pair for file in pairs for pair in clean_pairs(read_pairs(file))[0]]
    other = []
    if names:
        never = {word for _, words in tested_words(names).values() for word in words}
        draw = OtherWords([names_in(file) for file in names], never | {"Tom", "Mary", "Maria"})
        if not all(draw.lists):
            raise DataError("has no name that is not tested", names[draw.lists.index([])])
        other = [new for pair in train if (new := draw.names(pair)) != pair]
        other += [new for pair in (train + more) * COPIES_OF_NUMBERS if (new := draw.numbers(pair)) != pair]
    kept = dict.fromkeys([*train, *more, *other])
    write(([pair for pair in kept if words_of(pair[0]) not in held], *held_out), output)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="a folder of examples/tatoeba.py")
    parser.add_argument("output", help="where to write")
    parser.add_argument("--pairs", nargs="+", default=[], help="files of lines `English TAB German`")
    parser.add_argument("--names", nargs="+", default=[], help="files with a name per line")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        enlarge(**vars(arguments()))
    except KerasZooError as error:
        sys.exit(str(error))
