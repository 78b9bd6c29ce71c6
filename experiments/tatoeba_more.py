"""More training pairs for Tatoeba: translations, and sentences with other names and numbers.

    python experiments/tatoeba_more.py runs/tatoeba_en_de runs/tatoeba_en_de_more \\
        --pairs forward.tsv back.tsv --names firstnames.txt.gz surnames_us.txt.gz

The first folder is one of tatoeba.py, English to German or, with `--to fr`, to French. The new one has
the same held-out files and a larger `train.tsv`:

- the pairs of the corpus;
- those of `--pairs`, such as sentences that a model has translated in either direction (Nguyen et al. 2020,
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

PEOPLE = {  # English, and the other language as a regular expression
    "de": {"Tom": "Tom", "Mary": "Mar(?:y|ia)"},
    "fr": {"Tom": "Tom", "Mary": "Mar(?:y|ie)"},
}
NUMBER = r"(?<![\w.,:]){}(?!\w|[.,:]\d)"
COPIES_OF_NUMBERS = 4  # pairs with the same number on both sides are rare
HISSING = ("s", "x", "z", "ß", "ce")  # these names have no s in the German genitive
VOWELS = tuple("AEIOUÀÂÉÈÊËÎÏÔÛÜ")  # before these, the French "de" and "que" are "d'" and "qu'"


class OtherWords:
    """Replaces names and numbers that stand on both sides of a pair equally often.

    Args:
        lists: Lists of names; which one is used is drawn first.
        never: Names and numbers that are not used.
        language: `"de"` or `"fr"`, the language of the second sentence.
        seed: Number of the random sequence.
    """

    def __init__(self, lists, never=(), language="de", seed=1):
        self.random = random.Random(seed)
        self.people = PEOPLE[language]
        self.in_target = {"de": in_german, "fr": in_french}[language]
        self.never = never
        self.lists = [[name for name in names if name not in never] for names in lists]

    def names(self, pair):
        """Returns the pair with other names for `PEOPLE`, where this is possible."""
        for english, other in self.people.items():
            name = self.random.choice(self.random.choice(self.lists))
            sides = re.subn(rf"\b{english}\b", name, pair[0]), self.in_target(other, name, pair[1])
            pair = same_count(*sides) or pair
        return pair

    def numbers(self, pair):
        """Returns the pair with other numbers, where this is possible."""
        for number in dict.fromkeys(re.findall(NUMBER.format(r"\d{2,5}"), pair[0])):
            new = str(self.random.randrange(10, 10 ** self.random.randint(2, 5)))
            if new not in self.never:
                pair = same_count(*(re.subn(NUMBER.format(number), new, side) for side in pair)) or pair
        return pair


def same_count(source, target):
    """Returns two texts, each given with its number of replacements, or None if the numbers differ."""
    return (source[0], target[0]) if source[1] == target[1] else None


def in_german(person, name, text):
    """Returns the text with the name of another person, and how often it was replaced."""
    if name.endswith(HISSING) and re.search(rf"\b{person}s\b", text):
        return text, 0  # "Toms Hund", but "Max' Hund"
    return re.subn(rf"\b{person}(?=s?\b)", name, text)


def in_french(person, name, text):
    """Returns the text with the name of another person, and how often it was replaced."""
    text, count = re.subn(rf"\b{person}\b", name, text)
    if name.startswith(VOWELS):
        text = re.sub(rf"\b(d|\w*qu)e (?={re.escape(name)}\b)", r"\1'", text, flags=re.IGNORECASE)
    return text, count


def enlarge(directory, output, pairs=(), names=(), to="de"):
    """Writes four files with more training pairs; see the module."""
    train, *held_out = (list(read_pairs(f"{directory}/{name}")) for name in FILES)
    held = {words_of(source) for part in held_out for source, _ in part}
    more = [pair for file in pairs for pair in clean_pairs(read_pairs(file))[0]]
    other = []
    if names:
        never = {word for _, words in tested_words(names).values() for word in words}
        draw = OtherWords([names_in(file) for file in names], never | {"Tom", "Mary", "Maria"}, to)
        if not all(draw.lists):
            raise DataError("has no name that is not tested", names[draw.lists.index([])])
        other = [new for pair in train if (new := draw.names(pair)) != pair]
        other += [new for pair in (train + more) * COPIES_OF_NUMBERS if (new := draw.numbers(pair)) != pair]
    kept = dict.fromkeys([*train, *more, *other])
    write(([pair for pair in kept if words_of(pair[0]) not in held], *held_out), output)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="a folder of experiments/tatoeba.py")
    parser.add_argument("output", help="where to write")
    parser.add_argument("--to", choices=PEOPLE, default="de", help="the other language (de)")
    parser.add_argument("--pairs", nargs="+", default=[], help="files of lines `English TAB other`")
    parser.add_argument("--names", nargs="+", default=[], help="files with a name per line")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        enlarge(**vars(arguments()))
    except KerasZooError as error:
        sys.exit(str(error))
