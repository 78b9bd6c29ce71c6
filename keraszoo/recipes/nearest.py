"""Chooses a trained model that a new one begins with, and the section of a recipe that has its sizes."""

import contextlib
import re
from collections import Counter

from keraszoo.errors import PresetError
from keraszoo.registry import DERIVED, model_classes, models_of
from keraszoo.saving import model_directory
from keraszoo.shipping import shipped
from keraszoo.text.subwords import Subwords
from keraszoo.text.vector_directory import TASK
from keraszoo.text.word_vectors import WordVectors

# Frequent words of the languages that the included translators know.
FREQUENT = {
    "en": "the of and is to you in it that was he for with have my not".split(),
    "de": "der die und ist nicht ich sie das zu ein in mit den es hat wir".split(),
    "fr": "le les est et une pas je vous il des dans ne du sur ce au".split(),
}
SAMPLE = 2000  # sentences that are looked at
UNKNOWN = 1e-3  # share of subwords; with more of them, a text needs a vocabulary of its own
COVERED = 0.6  # share of words


def trained(task):
    """The models of a task on this machine that training can begin with: dict of name -> `Directory`."""
    found = {}
    for name, place in shipped.places().items():
        with contextlib.suppress(PresetError):
            directory = model_directory.read_description(place)
            quantized = "quantized" in (directory.config.get("model") or {})
            if directory.config.get("task") == task and not quantized:
                found[name] = directory
    return found


def model_section(directory):
    """The name, preset and overrides in a recipe that give a model the sizes of a trained one."""
    task, entry = directory.config["task"], directory.config["model"]
    row = next(row for row in models_of(task).values() if row.kind == entry["class"])
    kind = model_classes(task)[row.name]
    parameters = {key: value.default for key, value in kind.constructor_parameters().items()}
    derived = {*DERIVED, "vector_width"}
    overrides = {}
    for preset in sorted(kind.configurations, key=lambda preset: preset != row.preset):
        sizes = parameters | kind.configurations[preset]
        overrides[preset] = {
            key: value
            for key, value in entry["config"].items()
            if key in sizes and key not in derived and value != sizes[key]
        }
    preset = min(overrides, key=lambda preset: len(overrides[preset]))
    return {"name": row.name, "preset": preset, "overrides": overrides[preset]}


def language_of(texts):
    """The language of sentences among those of `FREQUENT`, by their frequent words; `None`: another one.

    >>> language_of(["Der Hund ist nicht in der Stadt."]), language_of(["El perro no está en la ciudad."])
    ('de', None)
    """
    words = Counter(word for text in texts[:SAMPLE] for word in re.findall(r"\w+", text.lower()))
    counts = {language: [words[word] for word in frequent] for language, frequent in FREQUENT.items()}
    best = max(counts, key=lambda language: sum(counts[language]))
    enough = sum(map(bool, counts[best])) >= 3 and sum(counts[best]) > 0.1 * words.total()
    return best if enough else None


def nearest_translator(pairs):
    """The trained Transformer that is nearest to pairs of sentences, or None.

    It translates from the same language, or into it, and its subwords split the text into the fewest pieces.
    Returns `(name, Directory, share)`, the last of subwords that its vocabulary does not know.
    """
    sides = [list(side) for side in zip(*pairs[:SAMPLE], strict=True)]
    languages = [language_of(side) for side in sides]
    ranked = []
    for name, directory in trained("translation").items():
        facts = directory.config.get("about", {})
        same = [a is not None and a == b for a, b in zip(languages, facts.get("languages", ()), strict=False)]
        if directory.config["model"]["class"] != "Transformer" or not any(same):
            continue
        files = [directory.path / file for file in directory.config["subwords"]]
        unknown = total = 0
        for file, side in zip((files[0], files[-1]), sides, strict=True):
            subwords = Subwords.load(file)
            tokens = [token for row in subwords.encode(side) for token in row]
            unknown, total = unknown + tokens.count(subwords.unknown_id), total + len(tokens)
        rank = -sum(same), not same[0], total, -facts.get("parameters", 0)
        ranked.append((rank, name, directory, unknown / max(1, total)))
    return min(ranked, key=lambda entry: entry[0])[1:] if ranked else None


def fitting_vectors(sentences):
    """The vectors on this machine that know the most words of some sentences, and a tagger with them.

    Returns `(name, share, tagger)`: the share of different words that have a vector, and the name and
    `Directory` of the tagger, or None; or None if no vectors know enough of them.
    """
    words = sorted({word for sentence in sentences for word in sentence if word.isalpha()})
    if len(words) < 50:
        return None
    ranked = []
    for name in trained(TASK):
        vectors = WordVectors.read(name, words=words)
        share = float((vectors.lookup(words) >= 0).mean())
        ranked.append((share, name))
    share, name = max(ranked, default=(0, None))
    if share < COVERED:
        return None
    known, taggers = set(WordVectors.read(name).words), []
    for tagger, directory in trained("tagging").items():
        own = directory.read_text("words.txt").split("\n")
        taggers.append((sum(word in known for word in own) / len(own), tagger, directory))
    overlap, *tagger = max(taggers, key=lambda entry: entry[0], default=(0, None))
    return name, share, tuple(tagger) if overlap > COVERED else None
