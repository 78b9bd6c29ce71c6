"""What word vectors are worth by themselves: likeness and analogies, by gensim's own evaluation."""

import math
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.vector_training import only_errors_of_gensim


def score_vectors(vectors, pairs=None, analogies=None):
    """Scores vectors by how people find words alike, and by analogies.

    Spearman's rank correlation between the cosines of pairs of words and people's judgements of them; and the
    share of analogies a : b = c : d for which d, among all words but a, b and c, has the largest cosine with
    b - a + c, the vectors at length 1. Both ignore case. What has a word without a vector is left out and
    counted.

    Args:
        vectors: `WordVectors`.
        pairs: a file of lines `word TAB word TAB judgement`; `None`: WordSim-353, which comes with gensim.
        analogies: a file of lines of four words in sections that begin with a line `: name`; `None`: the
            19,544 of Mikolov et al. 2013, which come with gensim.

    Returns:
        Dict of floats: `wordsim_353`, `wordsim_353_known`, `analogies` and `analogies_known`, all in per cent
        but the first, in [-1, 1]; None where nothing is known. Other files of pairs are `pairs`.

    Raises:
        DataError: a file that cannot be read.
        KerasZooError: gensim is not installed.

    Reference:
        Finkelstein et al. 2001, Placing Search in Context; Mikolov et al. 2013,
        https://arxiv.org/abs/1301.3781.
    """
    try:
        from gensim.models import KeyedVectors
        from gensim.test.utils import datapath
    except ImportError as error:
        raise KerasZooError("word vectors are scored by gensim: pip install gensim") from error
    for file in (pairs, analogies):
        if file is not None and not Path(file).is_file():
            raise DataError("no such file", file)
    model = KeyedVectors(vectors.width)
    model.add_vectors(vectors.words, vectors.matrix)
    name = "wordsim_353" if pairs is None else "pairs"
    with only_errors_of_gensim():
        try:
            _, (spearman, _), missing = model.evaluate_word_pairs(pairs or datapath("wordsim353.tsv"))
        except ValueError:  # no pair is known
            spearman, missing = math.nan, 100.0
        share, sections = model.evaluate_word_analogies(analogies or datapath("questions-words.txt"))
    answered = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    asked = _count_analogies(analogies or datapath("questions-words.txt"))
    return {
        name: None if math.isnan(spearman) else float(spearman),
        f"{name}_known": 100 - float(missing),
        "analogies": 100 * float(share) if answered else None,
        "analogies_known": 100 * answered / asked if asked else None,
    }


def _count_analogies(path):
    with open(path, encoding="utf-8") as file:
        return sum(1 for line in file if len(line.split()) == 4 and not line.startswith(":"))
