"""Trains the included word vectors, `english_words` and `biomedical_words`, and measures them.

    python experiments/free_text.py DATA runs/words              # the text
    python experiments/entities.py prepare DATA                  # the tagged corpora
    python experiments/word_vectors.py train general             # 65.6 million tokens
    python experiments/word_vectors.py train biomedical          # 41 million tokens
    python experiments/word_vectors.py select general            # a directory; also for biomedical
    python experiments/word_vectors.py measure runs/words/english_words runs/words/biomedical_words

Skip-gram with negative sampling, 200 numbers, over the free text and the words of the training parts of the
tagged corpora. All digits become 0, so `1849` has the vector of `0000`; biomedical text is lower-cased. With
one thread the same text gives the same vectors.

A word with a capital letter is dropped where the same word in small letters is more frequent and its vector
is close (cosine above 0.5): lookup finds `however` for `However`, while `Apple` keeps a vector of its own. Of
the rest the 110,000 most frequent words are kept, as int8.
"""

import argparse
import json
import logging
import math
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from scipy.linalg import orthogonal_procrustes

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.columns import read_columns
from keraszoo.text.vector_training import train_vectors
from keraszoo.text.word_vectors import WordVectors

NAMES = {"general": "english_words", "biomedical": "biomedical_words"}
CORPORA = {"general": ["english"], "biomedical": ["bc5cdr", "ncbi_disease"]}
FORMS = {"general": "digits0", "biomedical": "lower+digits0"}
GENERAL = "gmb", "worldwide", "uner_ewt", "uner_pud"
TESTS = ("btc", "wnut17", "wikigold/1", *(f"english/test_{name}" for name in GENERAL), *CORPORA["biomedical"])


def train(options):
    """Trains vectors on one folder of text."""
    folder = options.words / options.domain
    files = sorted(str(file) for file in folder.rglob("*.*"))
    files += [str(options.entities / corpus / "train.tsv") for corpus in CORPORA[options.domain]]
    settings = {"min_count": 5, "negative": 8, "sample": 1e-4, "epochs": 4, "form": FORMS[options.domain]}
    vectors, report = train_vectors(files, width=200, **settings)
    print(report)
    vectors.write(options.words / f"{options.domain}.bin")


def select(options):
    """Saves a directory of the words that are worth their place."""
    vectors = without_repeats(WordVectors.read(options.words / f"{options.domain}.bin"), options.count)
    if options.onto:
        vectors = joined_vectors(WordVectors.read(options.onto), vectors)
    vectors.save(options.words / NAMES[options.domain], dtype="int8")


def without_repeats(vectors, count):
    """Returns the most frequent words without capitalised forms of words that are there in small letters."""
    rows = {word: row for row, word in enumerate(vectors.words)}
    matrix = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)

    def repeats(row, word):
        other = rows.get(word.lower(), len(rows))
        return other < row and matrix[row] @ matrix[other] > 0.5

    kept = [row for row, word in enumerate(vectors.words) if not repeats(row, word)][:count]
    return WordVectors([vectors.words[row] for row in kept], vectors.matrix[kept])


def joined_vectors(vectors, others):
    """Returns vectors and, after them, those of the words that only `others` have, turned to fit.

    Two trainings give spaces that differ by a rotation. The rows v of `others` are turned so that those of
    the words w of both come near to the rows e (orthogonal Procrustes; Smith et al. 2017,
    https://arxiv.org/abs/1702.03859):

        e = v R        R = argmin_{R^T R = I} sum_w |v_w R - e_w|^2
    """
    if others.width != vectors.width:
        raise DataError(f"expected vectors of {vectors.width} numbers, got {others.width}")
    rows = others.lookup(vectors.words, ["exact"])
    common = rows >= 0
    if common.sum() < vectors.width:
        raise DataError(f"expected {vectors.width} words or more in common, got {common.sum()}")
    rotation, _ = orthogonal_procrustes(others.matrix[rows[common]], vectors.matrix[common])
    new = np.setdiff1d(np.arange(len(others)), rows)
    words = [*vectors.words, *(others.words[row] for row in new)]
    return WordVectors(words, np.concatenate([vectors.matrix, others.matrix[new] @ rotation]))


def similarity_scores(vectors, pairs=None, analogies=None):
    """Scores by human judgements of similarity and by analogies; both files are those of gensim by default.

    `pairs`, of WordSim-353 (Finkelstein et al. 2001), is Spearman's rank correlation between cosines and
    judgements. `analogies`, those of Mikolov et al. 2013 (https://arxiv.org/abs/1301.3781), is the share of
    solved ones, in per cent. What has a word without a vector is left out; `..._known` is the share of the
    rest.
    """
    logging.getLogger("gensim").setLevel(logging.ERROR)
    model = KeyedVectors(vectors.width)
    model.add_vectors(vectors.words, vectors.matrix)
    pairs, analogies = pairs or datapath("wordsim353.tsv"), analogies or datapath("questions-words.txt")
    try:
        _, (spearman, _), missing = model.evaluate_word_pairs(pairs, restrict_vocab=None)
    except ValueError:  # no pair is known
        spearman, missing = math.nan, 100.0
    share, sections = model.evaluate_word_analogies(analogies, restrict_vocab=None)
    asked = sum(line.count(" ") == 3 for line in Path(analogies).read_text("utf-8").splitlines())
    answered = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    return {
        "pairs": None if math.isnan(spearman) else float(spearman),
        "pairs_known": 100 - float(missing),
        "analogies": 100 * float(share) if answered else None,
        "analogies_known": 100 * answered / asked,
    }


def measure(options):
    """Prints similarity, analogies and, of prepared corpora, the share of entity tokens without a vector."""
    for path in options.vectors:
        vectors = WordVectors.read(path)
        scores = similarity_scores(vectors)
        if options.json:
            named = {key.replace("pairs", "wordsim_353"): value for key, value in scores.items()}
            print(json.dumps({"words": len(vectors), **named}))
            continue
        print(path, len(vectors), scores)
        for corpus in TESTS:
            file = options.entities / (f"{corpus}.tsv" if "test" in corpus else f"{corpus}/test.tsv")
            if not file.exists():
                continue
            missing = 1 - vectors.coverage(read_columns(file).sentences).covered["entity_tokens"]
            print(f"  {corpus}: {missing:.1%} of the entity tokens have no vector")


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=Path, default=Path("runs/words"), help="text and vectors")
    parser.add_argument("--entities", type=Path, default=Path("runs/entities"), help="tagged corpora")
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("domain", choices=NAMES)
    training.set_defaults(run=train)
    selecting = commands.add_parser("select")
    selecting.add_argument("domain", choices=NAMES)
    selecting.add_argument("--onto", help="earlier vectors, which are kept; the new ones are turned to fit")
    selecting.add_argument("--count", type=int, default=110_000, help="words that are kept")
    selecting.set_defaults(run=select)
    measuring = commands.add_parser("measure")
    measuring.add_argument("vectors", nargs="+")
    measuring.add_argument("--json", action="store_true", help="print the scores as lines of JSON")
    measuring.set_defaults(run=measure)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None
