"""How much of a text has word vectors, and by which form of its words."""

from collections import Counter
from dataclasses import dataclass

from keraszoo.text.backoff import DEFAULT_BACKOFF, check_backoff


@dataclass(frozen=True)
class Count:
    """Running words, different words, and running words inside entities (None where a text has no tags)."""

    tokens: int
    types: int
    entity_tokens: int | None


@dataclass(frozen=True)
class Coverage:
    """What share of a text has vectors.

    Attributes:
        steps: dict of the chain's names, in its order, to `Count`: what was found by that step.
        missing: `Count` of what was not found.
        total: `Count` of all.
        rows: how many different rows of the matrix the text uses.
        most_missed: list of (word, count), the ten most frequent words without a vector.
    """

    steps: dict
    missing: Count
    total: Count
    rows: int
    most_missed: list

    @property
    def tokens(self):
        """The share of the running words that have a vector, from 0 to 1."""
        return _share(self.total.tokens - self.missing.tokens, self.total.tokens)

    @property
    def types(self):
        """The share of the different words that have one."""
        return _share(self.total.types - self.missing.types, self.total.types)

    @property
    def entity_tokens(self):
        """The share of the running words inside entities that have one; None where there are no tags."""
        if self.total.entity_tokens is None:
            return None
        return _share(self.total.entity_tokens - self.missing.entity_tokens, self.total.entity_tokens)

    def __str__(self):
        rows = {**self.steps, "no vector": self.missing, "all": self.total}
        columns = ["tokens", "types"]
        if self.total.entity_tokens is not None:
            columns.append("entity tokens")
        first = max(map(len, rows))
        lines = ["".join([" " * first, *(f"{column:>20}" for column in columns)])]
        for name, count in rows.items():
            line = f"{name:<{first}}"
            for column in columns:
                number, of = (getattr(which, column.replace(" ", "_")) for which in (count, self.total))
                line += f"{number:>12,}{100 * _share(number, of):>6.1f} %"
            lines.append(line)
        lines.append(f"rows in use: {self.rows:,}")
        if self.most_missed:
            lines.append("most missed: " + ", ".join(f"{word} {count:,}" for word, count in self.most_missed))
        return "\n".join(lines)

    def as_dict(self):
        """The same as plain numbers, for JSON."""
        counts = {**self.steps, "missing": self.missing, "total": self.total}
        counted = {name: {**vars(count)} for name, count in counts.items()}
        shares = {name: getattr(self, name) for name in ("tokens", "types", "entity_tokens")}
        return {"covered": shares, "counts": counted, "rows": self.rows, "most_missed": self.most_missed}


def measure_coverage(vectors, sentences, backoff=DEFAULT_BACKOFF):
    """Counts which words of a text have vectors, by the step of the chain that found them.

    Args:
        vectors: `WordVectors`.
        sentences: iterable of sentences: lists of tokens, or objects with `tokens` and `tags` as
            `read_columns` gives them. Tokens with another tag than `O` are inside entities.
        backoff: the chain.

    Returns:
        A `Coverage`. A text without tokens has the share 0 of everything.

    Example:

    >>> from keraszoo.text.word_vectors import WordVectors
    >>> vectors = WordVectors(["the", "zoo"], [[1.0], [2.0]])
    >>> print(measure_coverage(vectors, [["The", "zoo", "the", "Kyoto", "zoo"]], ["exact", "lower"]))
                         tokens               types
    exact               3  60.0 %           2  50.0 %
    lower               1  20.0 %           1  25.0 %
    no vector           1  20.0 %           1  25.0 %
    all                 5 100.0 %           4 100.0 %
    rows in use: 2
    most missed: Kyoto 1
    """
    backoff = check_backoff(backoff)
    tokens, entity_tokens, tagged = Counter(), Counter(), False
    for sentence in sentences:
        words = tokens_of(sentence)
        tokens.update(words)
        if tags := getattr(sentence, "tags", ()):
            tagged = True
            entity_tokens.update(word for word, tag in zip(words, tags, strict=True) if tag != "O")
    found = {word: vectors.find(word, backoff) for word in tokens}

    def count(words):
        inside = sum(entity_tokens[word] for word in words) if tagged else None
        return Count(sum(tokens[word] for word in words), len(words), inside)

    by_step = {name: [word for word in tokens if found[word][1] == name] for name in (*backoff, None)}
    missed = by_step.pop(None)
    return Coverage(
        steps={name: count(words) for name, words in by_step.items()},
        missing=count(missed),
        total=count(tokens),
        rows=len({row for row, _ in found.values()} - {-1}),
        most_missed=sorted(((word, tokens[word]) for word in missed), key=lambda pair: -pair[1])[:10],
    )


def tokens_of(sentence):
    """The tokens of a sentence, be it tagged or a list of tokens."""
    return getattr(sentence, "tokens", sentence)


def _share(part, whole):
    return part / whole if whole else 0.0
