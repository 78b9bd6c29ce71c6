"""How many words of a text have vectors."""

from collections import Counter
from dataclasses import dataclass

from keraszoo.messages import one_line


@dataclass(frozen=True)
class Coverage:
    """The words of a text that have vectors.

    `counts` maps each step of the chain, `"missing"` and `"total"` to a dict of counts: `tokens`, `types`
    (different tokens) and `entity_tokens` (None without tags). `rows` are those of the matrix that the
    text uses, `most_missed` the ten most frequent words without a vector, as (word, count).
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


def _share(part, whole):
    return part / whole if whole else 0.0
