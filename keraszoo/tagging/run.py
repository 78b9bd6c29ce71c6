"""Prepares the run of a tagger's recipe: corpora, word vectors and an untrained tagger."""

import keras

from keraszoo.errors import RecipeError
from keraszoo.messages import say, show
from keraszoo.tagging.entity_tagger import EntityTagger
from keraszoo.tagging.transfer import start_from
from keraszoo.text.tagged_files import read_corpora, rules_of
from keraszoo.text.word_vectors import WordVectors


def prepare(recipe, checkpoints):
    """The untrained `EntityTagger`, corpora and arguments of `evaluate` of a recipe; see `run_recipe`."""
    kind = recipe.model_class()
    train, validation, test = read_corpora(recipe.data, recipe.path)
    vectors, keep = _vectors(recipe, kind, train, validation, test)
    keras.utils.set_random_seed(recipe.training.seed)
    # The tagger knows the labels and characters of both corpora, and the words that have vectors, or all.
    tagger = EntityTagger.for_sentences(
        [*train, *(validation or ())],
        vectors,
        recipe.model.name,
        recipe.model.preset,
        scheme=recipe.tags.scheme,
        constrain=recipe.tags.constraints,
        **({} if recipe.vectors is None else {"keep": keep, "backoff": tuple(recipe.vectors.backoff)}),
        token_rules=rules_of(recipe.data, train),
        **{"dtype": recipe.training.precision, **recipe.model.overrides, **_backbone(recipe)},
    )
    if recipe.model.lora_rank is not None:
        tagger.model.enable_lora(recipe.model.lora_rank)
    if vectors is not None:
        kept = len(tagger.vocabulary.words)
        say(f"{recipe.preset(recipe.vectors.file)}: {kept:,} vectors of {vectors.width} numbers are kept")
    copied = ""
    if recipe.model.start_from is not None and checkpoints.newest() is None:
        preset = recipe.preset(recipe.model.start_from)
        copied = f", {start_from(tagger, EntityTagger.from_preset(preset)):,} of them copied from {preset}"
    say(
        f"{type(tagger.model).__name__}, {tagger.model.count_params():,} parameters{copied}; "
        f"{len(train):,} sentences, {train.count_tokens():,} tokens"
    )
    for name, corpus in {"train": train, "validation": validation, "test": test}.items():
        if corpus is not None and corpus.changes():
            say(
                f"data.{name}: {corpus.repaired:,} invalid tags repaired, {corpus.moved:,} entities widened "
                f"to whole tokens, {corpus.dropped:,} without a token left out"
                f"{f', {corpus.skipped:,} texts not accepted' if corpus.skipped else ''}"
            )
    return tagger, train, validation, None if test is None else (test, train)


def _backbone(recipe):
    """The place of a pretrained encoder, an option of `EntityTagger.for_sentences`."""
    text = recipe.model.backbone
    if text is None:
        return {}
    return {"backbone": text if "://" in text else recipe.preset(text)}


def _vectors(recipe, kind, *corpora):
    """The vectors of a recipe and the words that keep theirs, with a line on how much text they cover."""
    section = recipe.vectors
    if section is None:
        return None, "all"
    keep = {token for corpus in corpora if corpus is not None for s in corpus for token in s.tokens}
    keep, backoff = keep if section.keep == "corpus" else "all", tuple(section.backoff)
    learn = {**kind.configurations[recipe.model.preset], **recipe.model.overrides}.get("subword_buckets")
    words = None if learn or keep == "all" else keep  # n-grams are learned from all vectors
    place = recipe.preset(section.file)
    vectors = WordVectors.read(place, section.format, words, backoff)
    width = recipe.model.overrides.get("vector_width", vectors.width)
    if width != vectors.width:
        raise RecipeError(f"model.overrides.vector_width is {width}, but {place} has {vectors.width}")
    show(vectors.coverage(list(corpora[0]), backoff))
    return vectors, keep
