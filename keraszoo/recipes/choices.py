"""The settings that fit corpora, with reasons: what `keraszoo init` writes into a recipe."""

import json
from collections import Counter

from keraszoo.errors import VocabularySizeError
from keraszoo.recipes.nearest import UNKNOWN, fitting_vectors, model_section, nearest_translator
from keraszoo.recipes.runs import product_speed
from keraszoo.registry import models_of
from keraszoo.shipping import shipped
from keraszoo.text.json_spans import is_json_lines
from keraszoo.text.pair_report import count_problems
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords
from keraszoo.text.tagged_files import find_columns, first_lines, read_tagged

LARGE = 100_000  # pairs; enough to learn a small model from nothing
LONGEST = 100  # subwords, the default of `data.max_length`
VOCABULARY = 8000
STRONG = "recurrent", "strong"
SAMPLE = 20_000  # pairs
UPDATES = 100  # an epoch
FASTER = 1.3  # times, for half precision

TRANSLATION = """\
# Written by `keraszoo init`. docs/training.md lists all settings.
data:
{data}
{subwords}
{model}
training:
  epochs: 30
  batch_tokens: {batch_tokens}  # about {updates:,} updates an epoch; less needs less memory
{precision}{patience}output: runs/translation
"""
TAGGING = """\
# Written by `keraszoo init`. docs/tagging.md lists all settings.
task: tagging
data:
{data}
{model}
tags: {{scheme: BIOES}}  # inside the model; its output is IOB2
training:
  epochs: 20
  batch_tokens: {batch_tokens}  # about {updates:,} updates an epoch
{patience}output: runs/tagging
"""


def choose_translation(chosen):
    """Settings of the recipe; (size, source sentences, changes) of each corpus; lines of the report."""
    parts, pairs = {}, []
    for role, files in chosen.items():
        sides = list(zip(*read_pairs(*files.values()), strict=True))
        counts = [sum(len(text.split()) for text in side) for side in sides]
        parts[role] = f"{len(sides[0]):,} pairs, {counts[0]:,} and {counts[1]:,} words", sides[0], []
        pairs = pairs or list(zip(*sides, strict=True))
    nearest = nearest_translator(pairs) if len(pairs) < LARGE else None
    subwords = None
    settings = {"precision": _precision()}
    if nearest is None:
        few = "" if len(pairs) > LARGE else "; few pairs for a model that knows nothing"
        preset = "small" if len(pairs) > LARGE else "tiny"
        settings["model"] = _untrained("translation", "transformer", preset) + few
    else:
        name, directory, unknown = nearest
        reason = f"{len(pairs):,} pairs are few to learn from nothing: it begins as {name}"
        settings["model"] = _model(name, directory, reason)
        if unknown <= UNKNOWN:
            subwords = Subwords.load(directory.path / directory.config["subwords"][0])
            settings["subwords"] = f"subwords: {{model: {name}}}  # knows {1 - unknown:.2%} of this text"
        else:
            said = f"that of {name} does not know {unknown:.1%} of this text"
    if subwords is None:
        size, subwords = _vocabulary(pairs)
        reason = said if nearest else "one vocabulary for both languages"
        settings["subwords"] = f"subwords: {{vocabulary_size: {size}}}  # {reason}"
    lengths = [[len(row) for row in subwords.encode(list(side))] for side in zip(*pairs, strict=True)]
    settings |= _batches(max(map(sum, lengths)), 256, 4096)
    problems = count_problems(pairs)
    problems["long"] = sum(max(pair) > LONGEST for pair in zip(*lengths, strict=True))
    if (+problems).keys() - {"repeated"}:
        counts = ", ".join(f"{count:,} {name}" for name, count in problems.items() if count)
        said = f"training leaves out blank ones and those above {LONGEST} subwords"
        settings["problems"] = [f"{'problems':<12}{counts} pairs; {said}"]
        settings["problems"] += [f"{'':<12}`keraszoo pairs` drops blank and repeated ones"]
    return settings, parts, []


def choose_tagging(chosen):
    """The same of tagged corpora."""
    is_json = is_json_lines(chosen["train"])
    columns, said = ({}, None) if is_json else find_columns(first_lines(chosen["train"]))
    report = [f"{'columns':<12}{said}"] if said else []
    parts, scheme, train = {}, columns.get("scheme"), None
    for role, file in chosen.items():
        corpus = read_tagged(file, **{} if is_json_lines(file) else {**columns, "scheme": scheme})
        if not is_json_lines(file) and corpus.shows_scheme:
            scheme = scheme or corpus.scheme
        counts = Counter(tag[2:] for sentence in corpus for tag in sentence.tags if tag[0] == "B")
        labels = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(12))
        text = f"{len(corpus):,} sentences, {corpus.count_tokens():,} tokens, {counts.total():,} entities"
        changes = [change for change in corpus.changes() if train is not None or "tags" not in change]
        if 2 * (corpus.moved + corpus.dropped) > counts.total() + corpus.dropped:
            changes.append("so `start` and `end` may not count characters")
        if role == "train":
            train = corpus
            report += [f"{'tag scheme':<12}{corpus.scheme}, {corpus.repaired:,} invalid tags repaired"]
            report += [f"{'labels':<12}{labels}"]
        parts[role] = text, [sentence.tokens for sentence in corpus], changes
    defaults = {"token_column": 0, "tag_column": -1}
    settings = {"columns": {k: v for k, v in columns.items() if v != defaults.get(k)}}
    settings |= {"model": _tagger(train), **_batches(train.count_tokens(), 128, 1024)}
    return settings, parts, report


def _tagger(corpus):
    """The sections `vectors` and `model` of a tagger's recipe."""
    fitting = fitting_vectors(sentence.tokens for sentence in corpus)
    if fitting is None:
        missing = [name for name in ("english_words", "english_entities") if name not in shipped.places()]
        fetch = f"; fetch {' and '.join(missing)} for English text" if missing else ""
        reason = f"raise F1; no included ones know this text{fetch}"
        return f"# vectors: {{file: FILE, keep: all}}  # {reason}\n{_untrained('tagging', *STRONG)}"
    name, share, tagger = fitting
    found = f"{share:.0%} of the words of this text have a vector"
    if tagger is None:
        model = _untrained("tagging", *STRONG, ", overrides: {int8_vectors: true}")
        return f"vectors: {{file: {name}, keep: all}}  # {found}\n{model}"
    backoff = ", ".join(tagger[1].config["vocabulary"]["backoff"])
    vectors = f"vectors: {{file: {name}, keep: all, backoff: [{backoff}]}}  # {found}"
    return "\n".join([vectors, _model(*tagger, f"the encoder is that of {tagger[0]}, which read more text")])


def _untrained(task, name, preset, more=""):
    """The section `model` of an untrained model, and the names of the others."""
    others = ", ".join(other for other in models_of(task) if other != name)
    return f"model: {{name: {name}, preset: {preset}{more}}}  # or {others}"


def _model(name, directory, reason):
    """The section `model` that starts from a trained model, with its sizes."""
    section = model_section(directory)
    overrides = ", ".join(f"{key}: {json.dumps(value)}" for key, value in section["overrides"].items())
    lines = [f"model:  # {reason}", f"  name: {section['name']}", f"  preset: {section['preset']}"]
    return "\n".join([*lines, f"  overrides: {{{overrides}}}  # its sizes", f"  start_from: {name}"])


def _batches(tokens, least, most):
    """The largest power of two that makes `UPDATES` updates an epoch, within bounds."""
    size = least
    while 2 * size <= most and 2 * size * UPDATES <= tokens:
        size *= 2
    return {"batch_tokens": size, "updates": -(-tokens // size)}


def _precision():
    """The line `precision` of a Transformer's recipe, by the speed of a product on this machine."""
    ratio = product_speed("bfloat16") / product_speed("float32")
    if ratio < FASTER:
        return f"  # precision: mixed_bfloat16  # its products have {ratio:.1f} times the speed here\n"
    return f"  precision: mixed_bfloat16  # its products have {ratio:.1f} times the speed here\n"


def _vocabulary(pairs):
    """The largest of 8000, 4000, ... that the text is large enough for; more if its characters need more."""
    sentences, size = [text for pair in pairs[:SAMPLE] for text in pair], VOCABULARY
    try:
        return size, Subwords.train(sentences, size)
    except VocabularySizeError as error:
        while error.largest and size > error.largest:
            size //= 2
        while error.least and size < error.least:
            size *= 2
    return size, Subwords.train(sentences, size)
