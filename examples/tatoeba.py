"""Cleans the Tatoeba corpus of everyday sentences, splits it by English sentence, and scores models on it.

    python examples/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    keraszoo train examples/recipes/tatoeba_en_de_transformer.yaml
    python examples/tatoeba.py score runs/tatoeba_en_de_transformer runs/tatoeba_en_de
    python examples/tatoeba.py score tatoeba_en_de_transformer en-de.tsv.gz 100    # shipped; 100 sentences

Lines are `English TAB other`, as in the files of https://www.manythings.org/anki (CC BY 2.0, from
https://tatoeba.org); further columns are ignored. `prepare` writes four files of such lines and prints their
sizes: `train.tsv`; `validation.tsv` and `test.tsv` with one pair for each of 2,000 English sentences that
occur in no other file; and `test_references.tsv` with all translations of the test sentences, for a second
BLEU with several references. `score` takes this folder, or the corpus, which it then splits in the same way,
and optionally the number of sentences to translate.
"""

import sys
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.evaluation.translation import score_translations
from keraszoo.saving.atomic import replace_directory
from keraszoo.text.parallel import clean_pairs, one_of_each, read_pairs, split_pairs, words_of

HELD_OUT = 2000
FILES = ("train.tsv", "validation.tsv", "test.tsv", "test_references.tsv")


def prepare(corpus, directory, held_out=HELD_OUT):
    """Cleans and splits a corpus; writes all four files or none."""
    parts = dict(zip(FILES, split(corpus, held_out), strict=True))
    with replace_directory(directory, check=lambda: _check_replaceable(Path(directory))) as folder:
        for name, lines in parts.items():
            text = "".join(f"{source}\t{target}\n" for source, target in lines)
            (folder / name).write_text(text, encoding="utf-8")
            sentences = len({words_of(source) for source, _ in lines})
            print(f"{name}: {len(lines):,} pairs, {sentences:,} English sentences")


def split(corpus, held_out=HELD_OUT):
    """Cleans a corpus; returns training, validation and test pairs, and all translations of the test."""
    pairs, counts = clean_pairs(read_pairs(corpus))
    print(", ".join(f"{counts[key]:,} {key.replace('_', ' ')}" for key in sorted(counts)), "in all")
    try:
        test, validation, train = split_pairs(pairs, held_out, held_out)
    except ValueError as error:
        raise DataError(str(error), corpus) from None
    return train, one_of_each(validation), one_of_each(test), test


def score(model, data, count=None):
    """Scores a model on the held-out sentences, with one reference and with all references."""
    if Path(data).is_dir():
        test, all_of_test = (list(read_pairs(f"{data}/{name}")) for name in FILES[2:])
    else:
        *_, test, all_of_test = split(data)
    sources, references = map(list, zip(*test[: count and int(count)], strict=True))
    every = {}
    for source, target in all_of_test:
        every.setdefault(words_of(source), []).append(target)
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
    from keraszoo import Translator  # imports the backend, which `prepare` does not need

    translations = Translator.from_preset(model).translate(sources)
    print(score_translations(translations, references))
    streams = reference_streams(sources, references, every)
    print(f"\nwith up to {len(streams)} references per sentence:")
    print(score_translations(translations, streams).bleu.score)


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
    match sys.argv[1:]:
        case ["prepare", _, _]:
            command = prepare
        case ["score", _, _] | ["score", _, _, _] if sys.argv[4:] == [] or sys.argv[4].isdecimal():
            command = score
        case _:
            sys.exit(__doc__)
    try:
        command(*sys.argv[2:])
    except KerasZooError as error:
        sys.exit(str(error))
