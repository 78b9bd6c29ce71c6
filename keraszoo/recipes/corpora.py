"""Finds corpora among the files of a folder, by their names and first lines."""

import contextlib
import re

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.json_spans import is_json_lines
from keraszoo.text.languages import LANGUAGES
from keraszoo.text.tagged_files import find_columns, first_lines

# What the name of a file says about its use; the first match counts.
ROLES = {
    "validation": re.compile(r"(?<![a-z])(val|valid|validation|dev|devel|testa)(?![a-z])", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])(test|testb|newstest)(?![a-z])", re.IGNORECASE),
    "train": re.compile(r"(?<![a-z])(train|training)(?![a-z])", re.IGNORECASE),
}
LANGUAGE = re.compile(r"(.+)\.([a-z]{2,3})")  # without .gz
CODES = {name.lower(): code for code, name in LANGUAGES.items()} | {"deutsch": "de", "francais": "fr"}
TABLE = re.compile(r".+\.(tsv|tab|txt)(\.gz)?")


def role_of(name):
    """The use of a file or corpus by its name, one of `ROLES`, or `None`."""
    return next((role for role, words in ROLES.items() if words.search(name)), None)


def parallel_files(files, languages):
    """Parallel corpora by name: a dict of `source` and `target`, or of `tsv`, as in a recipe."""
    found, sides = {}, {}
    languages = languages and [CODES.get(language.lower(), language) for language in languages]
    for file in files:
        is_table = TABLE.fullmatch(file.name)
        if is_table and all("\t" in line for line in _lines(file) or [""]):
            found[file.name] = {"tsv": file}
            continue
        name, language = _language(file.name.removesuffix(".gz"), is_table)
        if language:
            other = sides.setdefault(name, {}).setdefault(language, file)
            if other != file:
                raise KerasZooError(f"{file.parent}: has {other.name} and {file.name}; remove one of them")
    for name, by_language in sides.items():
        pair = languages or sorted(by_language, key=lambda language: (language != "en", language))
        if len(pair) == 2 and set(pair) <= set(by_language):
            found[name] = {"source": by_language[pair[0]], "target": by_language[pair[1]]}
        elif len(pair) > 2 and role_of(name):
            raise KerasZooError(f"{name}: there is {', '.join(pair)}; choose two, such as --languages en-de")
    there = {name: by_language for name, by_language in sides.items() if role_of(name)}
    if languages and there and not there.keys() & found.keys():
        names = ", ".join(sorted({language for by_language in there.values() for language in by_language}))
        raise KerasZooError(
            f"--languages {'-'.join(languages)}: expected two of {names}, as the files have them"
        )
    return found


def _language(name, is_text):
    """The name of a file without its language, and the language, or `None`.

    >>> _language("train.en", False), _language("english.txt", True), _language("train_french.txt", True)
    (('train', 'en'), ('text', 'en'), ('train', 'fr'))
    """
    parts = re.split(r"[^A-Za-z0-9]+", name.removesuffix(".txt") if is_text else name)
    codes = {part: CODES.get(part.lower()) for part in parts}
    if is_text:
        codes |= {part: part.lower() for part in parts if part.lower() in LANGUAGES}
    spoken = [part for part in parts if codes[part]]
    if len(spoken) == 1:
        return ".".join(part for part in parts if part != spoken[0]) or "text", codes[spoken[0]]
    match = None if is_text else LANGUAGE.fullmatch(name)
    return (match[1], match[2]) if match else (name, None)


def tagged_files(files):
    """Tagged corpora by name: a dict of their path."""
    return {file.name: file for file in files if is_json_lines(file) or find_columns(_lines(file))}


def _lines(file):
    """The first lines of a file, none if it is not text."""
    with contextlib.suppress(DataError):
        return first_lines(file)
    return []
