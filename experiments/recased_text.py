"""Gives lower-cased text its capitals back, so that a tagger that reads capitals can tag it.

    python experiments/recased_text.py runs/words/biomedical/abstracts.txt runs/recased.txt \\
        --like DATA/medquad/medquad.txt.gz DATA/craft/craft.txt.gz \\
        --tagged runs/entities/bc5cdr/train.tsv runs/entities/ncbi_disease/train.tsv

A word gets the form that it has most often inside the sentences of `--like` and `--tagged`; the first word of
a sentence gets a capital. A full stop before a space ends a sentence, but not after `et al`, `vs` and other
abbreviations of `ABBREVIATIONS`. The output has one sentence per line, each once.
"""

import argparse
import itertools
from collections import Counter, defaultdict
from pathlib import Path

import regex

from keraszoo.errors import KerasZooError
from keraszoo.text.columns import read_columns
from keraszoo.text.lines import read_lines, write_lines
from keraszoo.text.tokens import sentence_tokens

RULES = "alphanumeric"  # letters and digits are words, every other mark is one, as in BC5CDR
ABBREVIATIONS = ("e.g", "i.e", "vs", "al", "fig", "cf", "spp", "no", "dr")
NO_END = "|".join(map(regex.escape, ABBREVIATIONS))
END = regex.compile(rf"(?<!\b(?:{NO_END}|\p{{Ll}}))\. +(?=[\p{{Ll}}0-9(])")


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="lower-cased, a paragraph a line")
    parser.add_argument("output", type=Path)
    parser.add_argument("--like", type=Path, nargs="+", default=[], help="text with capitals")
    parser.add_argument("--tagged", type=Path, nargs="+", default=[], help="tagged files with capitals")
    return parser.parse_args()


def usual_forms(sentences):
    """For each lower-cased word the form that it has most often, not counting first words.

    >>> usual_forms([["Low", "DNA"], ["The", "DNA", "of", "dna"]])
    {'dna': 'DNA'}
    """
    counts = defaultdict(Counter)
    for words in sentences:
        for word in words[1:]:
            counts[word.lower()][word] += 1
    usual = {word: forms.most_common(1)[0][0] for word, forms in counts.items()}
    return {word: form for word, form in usual.items() if form != word}


def recased(line, usual):
    """The sentences of a lower-cased line with capitals.

    >>> recased("dna was found, e.g. by pcr. it is old.", {"dna": "DNA"})
    ['DNA was found, e.g. by pcr.', 'It is old.']
    """
    sentences = []
    for sentence in END.sub(".\n", line).split("\n"):
        parts, end = [], 0
        for token in itertools.chain.from_iterable(sentence_tokens(sentence, RULES)):
            form = usual.get(token.text, token.text)
            parts += [sentence[end : token.start], form if parts else form[:1].upper() + form[1:]]
            end = token.end
        sentences.append("".join(parts))
    return sentences


def words_of(files, tagged):
    """Yields the words of the sentences of all files."""
    for line in itertools.chain.from_iterable(map(read_lines, files)):
        for tokens in sentence_tokens(line, RULES):
            yield [token.text for token in tokens]
    for sentence in itertools.chain.from_iterable(map(read_columns, tagged)):
        yield sentence.tokens


def main():
    """Writes the sentences."""
    options = arguments()
    usual = usual_forms(words_of(options.like, options.tagged))
    lines = filter(str.strip, read_lines(options.text))
    sentences = dict.fromkeys(sentence for line in lines for sentence in recased(line, usual))
    write_lines(options.output, sentences)
    print(f"{len(usual):,} words get another form, {len(sentences):,} sentences")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None
