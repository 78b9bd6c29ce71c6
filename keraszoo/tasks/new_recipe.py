"""Writes a first recipe for the corpora in a folder, and reports what is in them."""

import contextlib
import itertools
import json
import os
import re
from collections import Counter
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.saving import yaml_text
from keraszoo.saving.atomic import replace_file
from keraszoo.text.columns import DOCUMENT, fields_of
from keraszoo.text.json_spans import is_json_lines
from keraszoo.text.lines import read_lines
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords
from keraszoo.text.tagged_files import ENTITY_TAG, read_tagged

# What the name of a file says about its use; the first match counts.
ROLES = {
    "validation": re.compile(r"(?<![a-z])(val|valid|validation|dev|devel|testa)(?![a-z])", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])(test|testb|newstest)(?![a-z])", re.IGNORECASE),
    "train": re.compile(r"(?<![a-z])(train|training)(?![a-z])", re.IGNORECASE),
}
LANGUAGE = re.compile(r"(.+)\.([a-z]{2,3})")  # without .gz
TABLE = re.compile(r".+\.(tsv|tab|txt)(\.gz)?")
PLAIN = re.compile(r"[\w./-]+")  # needs no quotes in YAML
LOOKED_AT = 200  # lines
LARGE = 100_000  # pairs
VOCABULARY = 8000
SAMPLE = 20_000  # pairs

TRANSLATION = """\
# Written by `keraszoo init`. docs/training.md lists all settings.
data:
{data}
subwords: {{vocabulary_size: {vocabulary_size}}}  # one vocabulary for both languages
model: {{name: transformer, preset: {preset}}}  # or rnnsearch, luong, simplified, deeplstm, rnnencdec
training:
  epochs: 30
  batch_tokens: {batch_tokens}  # smaller batches make more updates and need less memory
{patience}output: runs/translation
"""
TAGGING = """\
# Written by `keraszoo init`. docs/tagging.md lists all settings.
task: tagging
data:
{data}
# vectors: {{file: english_words, keep: all}}  # raise F1: a name from `keraszoo list`, or a file
model: {{name: recurrent, preset: strong}}  # or attention, transformer
tags: {{scheme: BIOES}}  # inside the model; its output is IOB2
training:
  epochs: 20
  batch_tokens: 512
{patience}output: runs/tagging
"""


def write_recipe(task, folder, path, languages=None):
    """Writes a recipe for the corpora in a folder, after reading all of them.

    The names of files say what they are for: `train`, `val` or `dev`, `test`. A parallel corpus is two files
    whose names end in the languages, `train.en` and `train.de`, or one of lines `source TAB target`. A tagged
    corpus is a file of columns or of JSON lines.

    Args:
        task: `"translation"` or `"tagging"`.
        folder: where the files are; folders in it are ignored.
        path: the recipe to write. Its paths are relative to its own folder.
        languages: `(source, target)`, endings of names; `None`: those of the files, English first.

    Returns:
        The lines of a report: columns, tag scheme, sizes, and duplicates within and across the corpora.

    Raises:
        KerasZooError: there is no training corpus, a corpus cannot be read, the recipe exists already, or
            `languages` are given and no corpus is two files.
    """
    path, folder = Path(path), Path(folder)
    if path.exists():
        raise KerasZooError(f"{path}: exists already and is not overwritten")
    if not folder.is_dir():
        raise KerasZooError(f"{folder}: there is no such folder")
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    found = _parallel(files, languages) if task == "translation" else _tagged(files)
    chosen, others = _by_role(found)
    unread = _unread(files, found)
    others += [file.name for file in unread]
    if "train" not in chosen:
        for file in unread:  # an error of the reader says what is wrong with it
            if ROLES["train"].search(file.name) and task == "tagging":
                read_tagged(file)
            elif ROLES["train"].search(file.name) and TABLE.fullmatch(file.name):
                list(read_pairs(file))
        wanted = "train.en and train.de, or train.tsv" if task == "translation" else "train.conll"
        names = ", ".join(file.name for file in files[:20]) or "no file"
        raise KerasZooError(f"{folder}: expected files such as {wanted}, got {names}")
    if languages and not any("source" in corpus for corpus in chosen.values()):
        raise KerasZooError(f"--languages has no effect with {', '.join(found)}; leave it out")
    describe = _describe_parallel if task == "translation" else _describe_tagged
    settings, parts, report = describe(chosen)
    seen, lines = {}, []
    for role, (text, sentences) in parts.items():
        distinct = set(sentences)
        shared = {other: len(distinct & seen[other]) for other in seen}
        notes = [text, f"{len(sentences) - len(distinct):,} repeated sentences"]
        notes += [f"{count:,} also in {other}" for other, count in shared.items() if count]
        report.append(f"{role:<12}{', '.join(notes)}")
        seen[role] = distinct
        lines.append(f"  {role}: {_yaml(chosen[role], path.parent)}  # {text}")
    report += [f"{'not used':<12}{', '.join(others)}"] if others else []
    for key, value in settings.pop("columns", {}).items():
        lines.append(f"  {key}: {json.dumps(value)}")
    patience = "  patience: 5  # stops after this many evaluations without a better one\n"
    if "validation" not in chosen:
        patience = ""
        lines.append("  # validation: held-out data chooses the best weights; name it here")
    template = TRANSLATION if task == "translation" else TAGGING
    with replace_file(path) as file:
        file.write(template.format(data="\n".join(lines), patience=patience, **settings).encode())
    return report


def _parallel(files, languages):
    """Parallel corpora by name: a dict of `source` and `target`, or of `tsv`, as in a recipe."""
    found, sides = {}, {}
    for file in files:
        if TABLE.fullmatch(file.name):
            if all("\t" in line for line in _first_lines(file) or [""]):
                found[file.name] = {"tsv": file}
        elif match := LANGUAGE.fullmatch(file.name.removesuffix(".gz")):
            other = sides.setdefault(match[1], {}).setdefault(match[2], file)
            if other != file:
                raise KerasZooError(f"{file.parent}: has {other.name} and {file.name}; remove one of them")
    for name, by_language in sides.items():
        pair = languages or sorted(by_language, key=lambda language: (language != "en", language))
        if len(pair) == 2 and set(pair) <= set(by_language):
            found[name] = {"source": by_language[pair[0]], "target": by_language[pair[1]]}
        elif len(pair) > 2 and any(words.search(name) for words in ROLES.values()):
            raise KerasZooError(f"{name}: there is {', '.join(pair)}; choose two, such as --languages en-de")
    there = {name: by for name, by in sides.items() if any(words.search(name) for words in ROLES.values())}
    if languages and there and not there.keys() & found.keys():
        names = ", ".join(sorted({language for by_language in there.values() for language in by_language}))
        raise KerasZooError(
            f"--languages {'-'.join(languages)}: expected two of {names}, as the files have them"
        )
    return found


def _tagged(files):
    """Tagged corpora by name: a dict of their path."""
    return {file.name: file for file in files if is_json_lines(file) or _columns(file)}


def _unread(files, found):
    """The files that are corpora by their names, but not by what they begin with."""
    corpora = [corpus.values() if isinstance(corpus, dict) else [corpus] for corpus in found.values()]
    used = {*itertools.chain.from_iterable(corpora)}
    named = [file for file in files if any(words.search(file.name) for words in ROLES.values())]
    return [file for file in named if file not in used]


def _by_role(found):
    """The first corpus for each role, a dict; and the names of the others."""
    named = {role: [] for role in ("train", "validation", "test", None)}
    for name in sorted(found):
        named[next((role for role, words in ROLES.items() if words.search(name)), None)].append(name)
    if not named["train"]:
        named["train"] = named.pop(None)
    chosen = {role: names[0] for role, names in named.items() if role and names}
    others = sorted(set(found) - set(chosen.values()))
    return {role: found[name] for role, name in chosen.items()}, others


def _describe_parallel(chosen):
    """Settings of the recipe, (size, source sentences) of each corpus, and further lines of the report."""
    parts, pairs = {}, []
    for role, files in chosen.items():
        sides = list(zip(*read_pairs(*files.values()), strict=True))
        words = [sum(len(text.split()) for text in side) for side in sides]
        parts[role] = f"{len(sides[0]):,} pairs, {words[0]:,} and {words[1]:,} words", sides[0]
        pairs = pairs or list(zip(*sides, strict=True))
    settings = {
        "vocabulary_size": _vocabulary_size(pairs),
        "preset": "small" if len(pairs) > LARGE else "tiny",
        "batch_tokens": 4096 if len(pairs) > LARGE // 5 else 1024,
    }
    return settings, parts, []


def _vocabulary_size(pairs):
    """The largest of 8000, 4000, ... that the text is large enough for; more if its characters need more."""
    size = VOCABULARY
    while True:
        try:
            Subwords.train(itertools.chain.from_iterable(pairs[:SAMPLE]), size)
            return size
        except DataError:
            raise
        except KerasZooError as error:
            too_small = "too small" in str(error)
            if size < 20 or (too_small and size < VOCABULARY) or (size > VOCABULARY and not too_small):
                raise
            size = 2 * size if too_small else size // 2


def _describe_tagged(chosen):
    """The same of tagged corpora."""
    columns, report = _columns(chosen["train"]) if not is_json_lines(chosen["train"]) else ({}, [])
    parts, scheme = {}, None
    for role, file in chosen.items():
        corpus = read_tagged(file, **{} if is_json_lines(file) else {**columns, "scheme": scheme})
        if not is_json_lines(file) and corpus.shows_scheme:
            scheme = scheme or corpus.scheme
        counts = Counter(tag[2:] for sentence in corpus for tag in sentence.tags if tag[0] == "B")
        labels = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(12))
        text = f"{len(corpus):,} sentences, {corpus.count_tokens():,} tokens, {counts.total():,} entities"
        if role == "train":
            report += [f"{'tag scheme':<12}{corpus.scheme}, {corpus.repaired:,} invalid tags repaired"]
            report += [f"{'labels':<12}{labels}"]
        parts[role] = text, [sentence.tokens for sentence in corpus]
    defaults = {"token_column": 0, "tag_column": -1}
    return {"columns": {k: v for k, v in columns.items() if v != defaults[k]}}, parts, report


def _columns(file):
    """The columns of tokens and of tags of a file, and a line for the report; None if it has no tags.

    The last column that holds tags counts, and the first one with other things than numbers. If the first row
    holds no tag, it names the columns.
    """
    lines = [line for line in _first_lines(file) if not line.startswith(DOCUMENT)]
    separator = "\t" if lines and "\t" in lines[0] else " "
    rows = [fields_of(line, separator) for line in lines]
    if len(rows) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return None
    columns = range(len(rows[0]))
    tags = [i for i in columns if all(ENTITY_TAG.fullmatch(row[i]) for row in rows[1:])]
    tokens = [i for i in columns if i not in tags and not all(row[i].isdecimal() for row in rows[1:])]
    if not tags or not tokens:
        return None
    token, tag = tokens[0], tags[-1]
    names = rows[0] if not ENTITY_TAG.fullmatch(rows[0][tag]) else None
    shown = f"tokens in column {token} ({rows[1][token]!r}), tags in column {tag} of {len(columns)}"
    places = {"token_column": token, "tag_column": -1 if tag == columns[-1] else tag}
    if names:
        places = {"token_column": names[token], "tag_column": names[tag]}
    return places, [f"{'columns':<12}{shown}{'; the first row names them' if names else ''}"]


def _first_lines(file):
    """The first lines of a file that are not blank, none if it is not text."""
    with contextlib.suppress(DataError):
        return list(itertools.islice(filter(str.strip, read_lines(file)), LOOKED_AT))
    return []


def _yaml(files, folder):
    """A path, or a dict of paths, as it stands in a recipe in `folder`."""
    if isinstance(files, dict):
        return "{" + ", ".join(f"{key}: {_yaml(file, folder)}" for key, file in files.items()) + "}"
    name = os.path.relpath(files, folder)
    plain = PLAIN.fullmatch(name) and yaml_text.parse(name, name, KerasZooError) == name  # not a number
    return name if plain else json.dumps(name, ensure_ascii=False)
