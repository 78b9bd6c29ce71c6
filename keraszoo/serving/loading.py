"""Loads the models of `keraszoo serve` and calls each once, so that the first request does not wait."""

import re
import time
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.registry import load
from keraszoo.serving.finding import CLASSES, find_models
from keraszoo.serving.served import Pair, Served

CODE = "([a-z]{2,3}(?:-[A-Z][A-Za-z]+)?)"  # such as en, pt-BR and zh-Hans
LANGUAGES = re.compile(f"{CODE}-{CODE}")


def load_models(names=(), engine="keras", beam_width=None, jit_compile=False, report=print):
    """Loads models and calls each once.

    Args:
        names: names of included models and model directories. `MODEL=en-de` gives the languages of a
            translator whose directory does not state them, and `MODEL=CORPUS` one of the corpora of a tagger,
            by default the first. If there are none, the best included translator of each pair of languages on
            this machine, and the best included tagger of each set of corpora.
        engine: of the translators, `"keras"` or `"ctranslate2"`.
        beam_width: of all translators; `None`: their own.
        jit_compile: whether XLA compiles programs for single texts; not with ctranslate2.
        report: a function called with a line about each model.

    Returns:
        `Served`.

    Raises:
        KerasZooError: a model that cannot be found or served, a translator of unknown languages, or two
            models for one pair of languages or of one name.
    """
    split = [_split(name) for name in names]
    found = find_models([name for name, _ in split], ("translation", "tagging"))
    pairs, taggers, known = {}, {}, set()
    for model, given in zip(found, [option for _, option in split] or [None] * len(found), strict=True):
        name, began = model.directory.name, time.monotonic()
        if model.about["task"] == "tagging":
            if not names and frozenset(model.corpora) in known:
                continue  # a better one
            known.add(frozenset(model.corpora))
            if name in taggers:
                raise KerasZooError(f"{name}: expected taggers of different names, got two of this one")
            tagger = taggers[name] = load(CLASSES["tagging"]).from_preset(model.directory, given)
            if jit_compile:
                tagger.warm_up()
            tagger.tag([model.example or "a"])
            does = f"tags {', '.join(tagger.vocabulary.labels)}"
        else:
            source, target = _languages(name, given, model.about["languages"])
            if (source, target) in pairs and not names:
                continue  # a better one
            translator = load(CLASSES["translation"]).from_preset(model.directory, engine)
            targets = {one: one for one in translator.target_languages} or {target: None}
            for target, language in targets.items():
                if (source, target) in pairs:
                    both = f"{pairs[source, target].name} and {name}"
                    raise KerasZooError(f"{source}-{target}: expected one translator, got {both}")
                pair = pairs[source, target] = Pair(name, translator, language, beam_width, source)
            if jit_compile:
                translator.warm_up(beam_width=pair.beam_width)
            pair.translate([model.example or "a"])
            does = f"translates {source} to {', '.join(targets)}"
        report(f"{name} {does}, ready after {time.monotonic() - began:.1f} s")
    return Served(pairs, taggers)


def _split(name):
    """`MODEL=OPTION` as (model, option), any other name with the option `None`."""
    model, _, option = name.rpartition("=")
    return (model, option) if model and "/" not in option and not Path(name).exists() else (name, None)


def _languages(name, given, stated):
    """The codes of the source and the target language of a translator."""
    match = LANGUAGES.fullmatch(given) if given is not None else None
    if match:
        return match.groups()
    if given is not None or len(stated) < 2:
        got = "none in its directory" if given is None else given
        raise KerasZooError(f"{name}: expected the languages, such as {name}=en-de, got {got}")
    return stated[:2]
