"""A training run from a tagger's recipe: corpora, vectors, model, training, scores, directory."""

import time

import keras

from keraszoo.errors import RecipeError
from keraszoo.messages import say, show
from keraszoo.tagging.building import model_arguments, model_kind
from keraszoo.tagging.entity_tagger import EntityTagger
from keraszoo.tagging.training import train_tagger
from keraszoo.tasks.resuming import resumable
from keraszoo.text.tagged_files import read_corpora
from keraszoo.text.word_vectors import WordVectors


def run_tagger_recipe(recipe):
    """Trains a tagger as a recipe says and writes its directory.

    The run can be stopped at any time and is taken up by the next call; see `resumable`.

    Args:
        recipe: a `TaggerRecipe`.

    Returns:
        The `EntityTagger`, with the figures of the run in `metrics`.

    Raises:
        KerasZooError: whatever in the recipe, the corpora or the vectors is not as it should be.
    """
    return resumable(recipe, _run, EntityTagger.from_preset)


def _run(recipe, checkpoints):
    started = time.perf_counter()
    recipe.check_overrides(model_arguments(model_kind(recipe.model.name)))
    train, validation, test = read_corpora(recipe.data)
    vectors = _vectors(recipe, train, validation, test)
    keras.utils.set_random_seed(recipe.training.seed)
    tagger = make_tagger_of(recipe, train, validation, vectors)
    say(
        f"{type(tagger.model).__name__}, {tagger.model.count_params():,} parameters; "
        f"{len(train):,} sentences, {train.count_tokens():,} tokens, {train.repaired} invalid tags mended"
    )
    settings = recipe.training.model_dump()
    held_out = None if validation is None else validation.sentences
    train_tagger(tagger, train.sentences, held_out, recipe.output, settings, checkpoints)
    tagger.metrics["training"]["seconds"] = round(time.perf_counter() - started, 1)
    if test is not None:
        scores = tagger.evaluate(test, known=train)
        tagger.metrics["test"] = scores.as_dict()
        show(scores)
    if checkpoints.writes:
        tagger.save_to_preset(recipe.output)
    checkpoints.finish(steps=tagger.metrics["training"]["steps"])
    return tagger


def make_tagger_of(recipe, train, validation, vectors):
    """The tagger that a recipe describes, untrained.

    It knows the labels and characters of both corpora, and the words that have vectors; or, if there are
    none, all.
    """
    learnt = [*train, *(validation or ())]
    tagger = EntityTagger.for_sentences(
        learnt,
        vectors,
        recipe.model.name,
        recipe.model.preset,
        scheme=recipe.tags.scheme,
        constrain=recipe.tags.constraints,
        **({} if recipe.vectors is None else {"keep": "all", "backoff": tuple(recipe.vectors.backoff)}),
        **{"dtype": recipe.training.precision, **recipe.model.overrides},
    )
    tagger.recipe, tagger.about = recipe.as_dict(), dict(recipe.about)
    return tagger


def _vectors(recipe, *corpora):
    """The vectors that a recipe names, with a line on how much of the training text they cover; or None."""
    section = recipe.vectors
    if section is None:
        return None
    tokens = {token for corpus in corpora if corpus is not None for s in corpus for token in s.tokens}
    words = tokens if section.keep == "corpus" else None
    vectors = WordVectors.read(section.file, section.format, words, tuple(section.backoff))
    width = recipe.model.overrides.get("vector_width", vectors.width)
    if width != vectors.width:
        raise RecipeError(f"model.overrides.vector_width is {width}, but {section.file} has {vectors.width}")
    say(f"{section.file}: {len(vectors):,} vectors of {vectors.width} numbers are kept")
    show(vectors.coverage(list(corpora[0]), tuple(section.backoff)))
    return vectors
