"""How good word vectors are: coverage of a text, similarity of words, analogies (the last two by gensim)."""

import contextlib
import logging
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from keraszoo.errors import DataError
from keraszoo.messages import one_line
from keraszoo.text.lines import read_lines


@dataclass(frozen=True)
class Coverage:
    """The words of a text that have vectors.

    Attributes:
        counts: dict of each step of the chain, `"missing"` and `"total"` to a dict of counts: `tokens`,
            `types` (different tokens) and `entity_tokens` (tokens of entities; None without tags).
        rows: the number of rows of the matrix that the text uses.
        most_missed: list of (word, count), the ten most frequent words without a vector.
    """

    counts: dict
    rows: int
    most_missed: list

    @property
    def covered(self):
        """Dict of `tokens`, `types` and `entity_tokens` to the share with a vector, from 0 to 1, or None."""
        missing, total = self.counts["missing"], self.counts["total"]
        return {unit: n if n is None else _share(n - missing[unit], n) for unit, n in total.items()}

    def __str__(self):
        total = self.counts["total"]
        units = [unit for unit, count in total.items() if count is not None]
        names = {"missing": "no vector", "total": "all"}
        first = max(len(names.get(name, name)) for name in self.counts)
        lines = [" " * first + "".join(f"{unit.replace('_', ' '):>20}" for unit in units)]
        for name, count in self.counts.items():
            cells = (f"{count[unit]:>12,}{100 * _share(count[unit], total[unit]):>6.1f} %" for unit in units)
            lines.append(f"{names.get(name, name):<{first}}" + "".join(cells))
        lines.append(f"rows in use: {self.rows:,}")
        if self.most_missed:
            missed = (f"{one_line(word)} {count:,}" for word, count in self.most_missed)
            lines.append("most missed: " + ", ".join(missed))
        return "\n".join(lines)

    def as_dict(self):
        """Returns plain numbers, for JSON."""
        return {"covered": self.covered, **vars(self)}


def measure_coverage(vectors, sentences, backoff):
    """Counts which words of `TaggedSentence`s have vectors, by which step of the chain; see `Coverage`."""
    tokens, inside, tagged = Counter(), Counter(), False
    for sentence in sentences:
        tokens.update(sentence.tokens)
        if sentence.tags:
            tagged = True
            pairs = zip(sentence.tokens, sentence.tags, strict=True)
            inside.update(token for token, tag in pairs if tag != "O")
    places = {word: vectors.find(word, backoff) for word in tokens}
    words = {name: [word for word in tokens if places[word][1] == name] for name in backoff}
    words |= {"missing": [word for word in tokens if places[word][0] < 0], "total": list(tokens)}
    counts = {
        name: {
            "tokens": sum(tokens[word] for word in some),
            "types": len(some),
            "entity_tokens": sum(inside[word] for word in some) if tagged else None,
        }
        for name, some in words.items()
    }
    missed = Counter({word: tokens[word] for word in words["missing"]})
    return Coverage(counts, len({row for row, _ in places.values()} - {-1}), missed.most_common(10))


def score_vectors(vectors, pairs=None, analogies=None):
    """Scores vectors by human judgements of similarity and by analogies.

    Similarity is Spearman's rank correlation between the cosines of pairs of words and human judgements. An
    analogy a : b = c : d is solved if d, among all words except a, b and c, has the largest cosine with
    b - a + c, for vectors of length 1. Case is ignored. Pairs and analogies with a word that has no vector
    are left out and counted.

    Args:
        vectors: `WordVectors`.
        pairs: a file of lines `word TAB word TAB judgement`; by default WordSim-353, which gensim contains.
        analogies: a file of lines of four words in sections that begin with a line `: name`; by default the
            19,544 of Mikolov et al. 2013, which gensim contains.

    Returns:
        Dict of floats: `wordsim_353` (or `pairs` for another file) in [-1, 1], `analogies`, and the share of
        both that has vectors, `wordsim_353_known` and `analogies_known`, in per cent. A score is None if
        nothing is known.

    Raises:
        DataError: as `read_lines` does; pairs without two TABs in any line; analogies without a section or
            without four words in a line.

    Reference:
        Finkelstein et al. 2001, Placing Search in Context; Mikolov et al. 2013,
        https://arxiv.org/abs/1301.3781.
    """
    from gensim.models import KeyedVectors
    from gensim.test.utils import datapath

    for path in filter(None, (pairs, analogies)):  # gensim opens them again
        if Path(path).is_fifo():
            raise DataError("a pipe, which is read only once; expected a file", path)
    # gensim skips lines of another form, and takes a line that is not UTF-8 for unknown words.
    if pairs and not [line for line in read_lines(pairs) if line.count("\t") == 2]:
        raise DataError("expected lines 'word TAB word TAB judgement', got none", pairs)
    name = "wordsim_353" if pairs is None else "pairs"
    analogies = analogies or datapath("questions-words.txt")
    asked = sum(len(line.split()) == 4 and not line.startswith(":") for line in read_lines(analogies))
    model = KeyedVectors(vectors.width)
    model.add_vectors(vectors.words, vectors.matrix)
    with quiet_gensim():
        try:
            _, (spearman, _), missing = model.evaluate_word_pairs(
                pairs or datapath("wordsim353.tsv"), restrict_vocab=None
            )
        except ValueError:  # no pair is known
            spearman, missing = math.nan, 100.0
        try:
            share, sections = model.evaluate_word_analogies(analogies, restrict_vocab=None)
        except (ValueError, ZeroDivisionError):  # a line before the first section; no line of four words
            raise DataError("expected a line ': name', then lines of four words", analogies) from None
    answered = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    return {
        name: None if math.isnan(spearman) else float(spearman),
        f"{name}_known": 100 - float(missing),
        "analogies": 100 * float(share) if answered else None,
        "analogies_known": 100 * answered / asked if asked else None,
    }


@contextlib.contextmanager
def quiet_gensim():
    """Hides gensim's warnings about short texts and unknown words."""
    logger = logging.getLogger("gensim")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _share(part, whole):
    return part / whole if whole else 0.0
