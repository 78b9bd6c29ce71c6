"""Writes a first recipe for the corpora in a folder, and reports what is in them."""

import itertools
import json
import os
import re
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.recipes.choices import TAGGING, TRANSLATION, choose_tagging, choose_translation
from keraszoo.recipes.corpora import TABLE, parallel_files, role_of, tagged_files
from keraszoo.saving import yaml_text
from keraszoo.saving.atomic import replace_file
from keraszoo.text.parallel import read_pairs
from keraszoo.text.tagged_files import read_tagged

PLAIN = re.compile(r"[\w./-]+")  # needs no quotes in YAML


def write_recipe(task, folder, path, languages=None):
    """Writes a recipe for the corpora in a folder, after reading all; returns the lines of a report.

    The names of files say what they are for: `train`, `val` or `dev`, `test`. A parallel corpus is two files
    whose names end in the languages, `train.en` and `train.de`, or have them, `english.txt` and `german.txt`;
    or one of lines `source TAB target`. A tagged corpus is a file of columns or of JSON lines.

    `task` is `"translation"` or `"tagging"`. The paths in the recipe are relative to its folder. `languages`,
    `(source, target)`, are endings of names; `None`: those of the files, English first.

    Raises KerasZooError: there is no training corpus, a corpus cannot be read, the recipe exists already, or
    `languages` are given and no corpus is two files.
    """
    path, folder = Path(path), Path(folder)
    if path.exists():
        raise KerasZooError(f"{path}: exists already and is not overwritten")
    if not folder.is_dir():
        raise KerasZooError(f"{folder}: there is no such folder")
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    found = parallel_files(files, languages) if task == "translation" else tagged_files(files)
    chosen, others = _by_role(found)
    unread = _unread(files, found)
    others += [file.name for file in unread]
    if "train" not in chosen:
        for file in unread:  # an error of the reader says what is wrong with it
            if role_of(file.name) == "train" and task == "tagging":
                read_tagged(file)
            elif role_of(file.name) == "train" and TABLE.fullmatch(file.name):
                list(read_pairs(file))
        wanted = "train.en and train.de, or train.tsv" if task == "translation" else "train.conll"
        names = ", ".join(file.name for file in files[:20]) or "no file"
        raise KerasZooError(f"{folder}: expected files such as {wanted}, got {names}")
    if languages and not any("source" in corpus for corpus in chosen.values()):
        raise KerasZooError(f"--languages has no effect with {', '.join(found)}; leave it out")
    choose = choose_translation if task == "translation" else choose_tagging
    settings, parts, report = choose(chosen)
    seen, lines = {}, []
    for role, (text, sentences, changes) in parts.items():
        distinct = set(sentences)
        shared = {other: len(distinct & seen[other]) for other in seen}
        notes = [text, f"{len(sentences) - len(distinct):,} repeated sentences"]
        notes += [f"{count:,} also in {other}" for other, count in shared.items() if count]
        report.append(f"{role:<12}{', '.join([*notes, *changes])}")
        seen[role] = distinct
        lines.append(f"  {role}: {_yaml(chosen[role], path.parent)}  # {text}")
    report += settings.pop("problems", [])
    report += [f"{'not used':<12}{', '.join(others)}"] if others else []
    for key, value in settings.pop("columns", {}).items():
        lines.append(f"  {key}: {json.dumps(value)}")
    patience = "  patience: 5  # stops after this many evaluations without a better one\n"
    if "validation" not in chosen:
        patience = ""
        lines.append("  # validation: held-out data chooses the best weights; name it here")
        if task == "translation":
            lines.append("  # `keraszoo pairs FILES --output FOLDER --validation 500` holds some out")
    template = TRANSLATION if task == "translation" else TAGGING
    with replace_file(path) as file:
        file.write(template.format(data="\n".join(lines), patience=patience, **settings).encode())
    return report


def _unread(files, found):
    """The files that are corpora by their names, but not by what they begin with."""
    corpora = [corpus.values() if isinstance(corpus, dict) else [corpus] for corpus in found.values()]
    used = {*itertools.chain.from_iterable(corpora)}
    return [file for file in files if role_of(file.name) and file not in used]


def _by_role(found):
    """The first corpus for each role, a dict; and the names of the others."""
    named = {role: [] for role in ("train", "validation", "test", None)}
    for name in sorted(found):
        named[role_of(name)].append(name)
    if not named["train"]:
        named["train"] = named.pop(None)
    chosen = {role: names[0] for role, names in named.items() if role and names}
    others = sorted(set(found) - set(chosen.values()))
    return {role: found[name] for role, name in chosen.items()}, others


def _yaml(files, folder):
    """A path, or a dict of paths, as it stands in a recipe in `folder`."""
    if isinstance(files, dict):
        return "{" + ", ".join(f"{key}: {_yaml(file, folder)}" for key, file in files.items()) + "}"
    name = os.path.relpath(files, folder)
    plain = PLAIN.fullmatch(name) and yaml_text.parse(name, name, KerasZooError) == name  # not a number
    return name if plain else json.dumps(name, ensure_ascii=False)
