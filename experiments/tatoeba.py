"""Cleans the Tatoeba corpus of everyday sentences, splits it by English sentence, and scores models on it.

    python experiments/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    python experiments/tatoeba.py reverse runs/tatoeba_en_de runs/tatoeba_de_en       # for German to English
    keraszoo train experiments/recipes/tatoeba_en_de_transformer.yaml
    python experiments/tatoeba.py score runs/tatoeba_en_de_transformer runs/tatoeba_en_de
    python experiments/tatoeba.py copies tatoeba_en_de_transformer firstnames.txt.gz surnames_us.txt.gz

Lines are `English TAB other`, as in the files of https://www.manythings.org/anki (CC BY 2.0, from
https://tatoeba.org); further columns are ignored. `prepare` writes four files of such lines and prints their
sizes: `train.tsv`; `validation.tsv` and `test.tsv` with one pair for each of 2,000 English sentences that
are not in `train.tsv`; and `test_references.tsv` with all translations of the test sentences, for a second
BLEU with several references. `reverse` swaps the languages of these files, and leaves out held-out pairs
whose new source sentence is in `train.tsv`; so a model of one direction can begin with the weights of the
other, which was not trained on the held-out sentences either. `score` takes this folder. `copies` writes 200
English sentences with a name of the given files (one a line) or a number, and reports how many translations
contain it unchanged. With `--json` at the end, `score` and `copies` print one line of JSON.
"""

import dataclasses
import hashlib
import json
import random
import re
import sys
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.evaluation.translation import score_translations
from keraszoo.saving.atomic import replace_directory
from keraszoo.text.lines import read_lines
from keraszoo.text.parallel import clean_pairs, read_pairs, split_pairs, words_of

HELD_OUT = 2000
WITH_NAME = (
    "{} is my best friend.",
    "I met {} yesterday.",
    "Have you ever heard of {}?",
    "My neighbor's name is {}.",
    "Please tell {} that I am waiting.",
)
WITH_NUMBER = (
    "The book has {} pages.",
    "This ticket costs {} dollars.",
    "I live at number {}.",
    "We need {} more chairs.",
    "There were {} people at the concert.",
)
FILES = ("train.tsv", "validation.tsv", "test.tsv", "test_references.tsv")


def prepare(corpus, directory, held_out=HELD_OUT):
    """Cleans and splits a corpus; writes all four files or none."""
    pairs, counts = clean_pairs(read_pairs(corpus))
    print(", ".join(f"{counts[key]:,} {key.replace('_', ' ')}" for key in sorted(counts)), "in all")
    try:
        test, validation, train = split_pairs(pairs, held_out, held_out)
    except ValueError as error:
        raise DataError(str(error), corpus) from None
    write((train, one_of_each(validation), one_of_each(test), test), directory)


def reverse(directory, output):
    """Swaps the languages of four files, without held-out sentences that are in the training part."""
    train, *held_out = ([pair[::-1] for pair in read_pairs(f"{directory}/{name}")] for name in FILES)
    trained = {words_of(source) for source, _ in train}
    validation, test, all_of_test = (
        [pair for pair in pairs if words_of(pair[0]) not in trained] for pairs in held_out
    )
    tested = {words_of(source) for source, _ in all_of_test}
    validation = [pair for pair in validation if words_of(pair[0]) not in tested]
    write((train, one_of_each(validation), one_of_each(test), all_of_test), output)


def write(parts, directory):
    """Writes all four files or none, and prints their sizes."""
    with replace_directory(directory, check=lambda: _check_replaceable(Path(directory))) as folder:
        for name, lines in zip(FILES, parts, strict=True):
            text = "".join(f"{source}\t{target}\n" for source, target in lines)
            (folder / name).write_text(text, encoding="utf-8")
            sentences = len({words_of(source) for source, _ in lines})
            print(f"{name}: {len(lines):,} pairs, {sentences:,} source sentences")


def one_of_each(pairs):
    """Returns one pair per source sentence (as `split_pairs` counts them), chosen by hash."""
    chosen = {}
    for pair in pairs:
        key = words_of(pair[0])
        chosen[key] = min(chosen.get(key, pair), pair, key=_hash)
    return list(chosen.values())


def _hash(pair):
    return hashlib.sha256("\t".join(pair).encode()).digest()


def score(model, data, as_json=False):
    """Scores a model on the held-out sentences, with one reference and with all references."""
    test, all_of_test = (list(read_pairs(f"{data}/{name}")) for name in FILES[2:])
    sources, references = map(list, zip(*test, strict=True))
    every = {}
    for source, target in all_of_test:
        every.setdefault(words_of(source), []).append(target)
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
    from keraszoo import Translator  # imports the backend, which `prepare` does not need

    translations = Translator.from_preset(model).translate(sources)
    scores = score_translations(translations, references)
    streams = reference_streams(sources, references, every)
    bleu = score_translations(translations, streams).bleu
    if as_json:
        every = {**dataclasses.asdict(bleu), "name": "BLEU, all references"}
        print(json.dumps({**scores.as_dict(), "bleu_all_references": every}))
        return
    print(scores)
    print(f"\nwith up to {len(streams)} references per sentence:")
    print(bleu.score)


def names_in(file):
    """Returns the names of a file, one a line."""
    return [name for name in map(str.strip, read_lines(file)) if name]


def tested_words(files):
    """Returns the sentences and words of the test of names and numbers, by the name of the file."""
    draw, words = random.Random(1), {}
    if len({Path(file).name for file in files}) < len(files):
        raise DataError(f"expected files of different names, got {', '.join(map(str, files))}")
    for file in files:
        names, count = names_in(file), 100 // len(files)
        if len(names) < count:
            raise DataError(f"expected at least {count} names, got {len(names)}", file)
        words[Path(file).name] = (WITH_NAME, draw.sample(names, count))
    numbers = [str(draw.randrange(10, 10**digits)) for digits in (2, 3, 4, 5) * 25]
    return words | {"numbers": (WITH_NUMBER, numbers)}


def copies(model, *files, as_json=False):
    """Prints the share of names and of numbers that a model copies unchanged, of 100 sentences each."""
    texts = tested_words(files)
    import keraszoo.cli.quiet  # noqa: F401
    from keraszoo import Translator

    translator, counts = Translator.from_preset(model), {}
    for name, (sentences, words) in texts.items():
        sources = [sentences[i % len(sentences)].format(word) for i, word in enumerate(words)]
        translations = translator.translate(sources)
        copied = [
            re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
            for word, text in zip(words, translations, strict=True)
        ]
        counts[name.partition(".")[0]] = f"{sum(copied)} of {len(words)}"
        lost = list(zip(sources, translations, strict=True))[copied.index(False)] if not all(copied) else ""
        if not as_json:
            print(f"{name}: {sum(copied)} of {len(words)}", lost)
    if as_json:
        print(json.dumps(counts))


def reference_streams(sources, references, every):
    """Returns lists of references for sacrebleu: first `references`, then the other translations.

    A sentence with fewer references repeats its first one, which does not change BLEU.
    """
    more = [
        [target for target in every[words_of(source)] if target != first]
        for source, first in zip(sources, references, strict=True)
    ]
    count = max(map(len, more))
    rest = [
        [targets[k] if k < len(targets) else first for targets, first in zip(more, references, strict=True)]
        for k in range(count)
    ]
    return [references, *rest]


def _check_replaceable(directory):
    """Raises DataError unless the folder is empty or has only the four files."""
    others = {path.name for path in directory.iterdir()} - set(FILES) if directory.is_dir() else set()
    if others or directory.is_file():
        raise DataError(f"contains {min(others, default='a file')}, which would be overwritten", directory)


if __name__ == "__main__":
    given = sys.argv[1:]
    options = {"as_json": True} if given[:1] in (["score"], ["copies"]) and given[-1] == "--json" else {}
    given = given[:-1] if options else given
    match given:
        case ["prepare", _, _]:
            command = prepare
        case ["reverse", _, _]:
            command = reverse
        case ["score", _, _]:
            command = score
        case ["copies", _, _, *_]:
            command = copies
        case _:
            sys.exit(__doc__)
    try:
        command(*given[1:], **options)
    except KerasZooError as error:
        sys.exit(str(error))
