"""A training run from a recipe: corpora, vocabularies, model, training, scores, directory."""

import inspect
import itertools
import time

import keras

from keraszoo import models
from keraszoo.errors import RecipeError
from keraszoo.messages import say, show
from keraszoo.search import SearchOptions
from keraszoo.tasks.resuming import resumable
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords
from keraszoo.translation.model_names import TRANSLATION_MODELS
from keraszoo.translation.training import make_corpus, train_translator
from keraszoo.translation.translator import Translator

SIDES = "source", "target"
KINDS = {name: getattr(models, kind) for name, kind in TRANSLATION_MODELS.items()}


def run_recipe(recipe):
    """Trains a translator as a recipe says and writes its directory.

    The run can be stopped at any time, also by `kill -9`: its checkpoints are in the folder
    `<output>.checkpoints`, and the next call goes on from the newest. When all is done a note there says so,
    and the next call does nothing.

    Args:
        recipe: a `Recipe`.

    Returns:
        The `Translator`, with the figures of the run in `metrics`.

    Raises:
        KerasZooError: whatever in the recipe or the corpora is not as it should be, or another recipe than
            the one that a run in `<output>.checkpoints` began with.
        KeyboardInterrupt, SystemExit: after Ctrl-C, or with 143 after SIGTERM, when all is saved.
    """
    return resumable(recipe, _run, Translator.from_preset)


def _run(recipe, checkpoints):
    started = time.perf_counter()
    recipe.check_overrides(model_arguments(recipe.model.name))
    validation = _pairs(recipe.data.validation)
    test = _pairs(recipe.data.test)
    source_subwords, target_subwords = _subwords(recipe, checkpoints)
    keras.utils.set_random_seed(recipe.training.seed)
    model = make_model(recipe, source_subwords, target_subwords)
    search = SearchOptions(**recipe.search.model_dump())
    translator = Translator(model, source_subwords, target_subwords, search)
    translator.recipe, translator.about = recipe.as_dict(), dict(recipe.about)
    corpus = make_corpus(translator, read_pairs(*_files(recipe.data.train)), recipe.data.max_length)
    say(
        f"{type(model).__name__}, {model.count_params():,} parameters; {len(corpus):,} pairs, "
        f"{corpus.dropped['blank']} blank and {corpus.dropped['too_long']} too long ones left out"
    )
    settings = recipe.training.model_dump()
    train_translator(translator, corpus, validation, recipe.output, settings, checkpoints)
    translator.metrics["training"]["seconds"] = round(time.perf_counter() - started, 1)
    if test:
        sources, references = map(list, zip(*test, strict=True))
        scores = translator.evaluate(sources, references)
        translator.metrics["test"] = scores.as_dict()
        show(scores)
    if checkpoints.writes:
        translator.save_to_preset(recipe.output)
    checkpoints.finish(steps=translator.metrics["training"]["steps"])
    return translator


def make_model(recipe, source_subwords, target_subwords):
    """The model that a recipe names, untrained.

    Raises:
        RecipeError: the model's constructor does not take an override's value.
    """
    sizes = {
        "source_vocabulary_size": source_subwords.vocabulary_size,
        "target_vocabulary_size": target_subwords.vocabulary_size,
        "source_pad_id": source_subwords.pad_id,
        "dtype": recipe.training.precision,
    }
    try:
        return KINDS[recipe.model.name].preset(recipe.model.preset, **{**sizes, **recipe.model.overrides})
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model: {error}") from error


def model_arguments(name):
    """Names of the arguments of a model's constructor that a recipe may override."""
    return [argument for argument in inspect.signature(KINDS[name]).parameters if argument != "kwargs"]


def _subwords(recipe, checkpoints):
    """The vocabularies: those of a run that is taken up, brought ones, or new ones."""
    if checkpoints.newest is None:
        sides = _new_subwords(recipe)
        checkpoints.files = {
            f"{name}.model": side.model_bytes for name, side in zip(SIDES, sides, strict=True)
        }
        return sides
    source, target = (Subwords(checkpoints.files[f"{name}.model"]) for name in SIDES)
    return (source, source) if source == target else (source, target)


def _new_subwords(recipe):
    section = recipe.subwords
    if section.model is not None:
        both = Subwords.load(section.model)
        return both, both
    if section.source_model is not None:
        return Subwords.load(section.source_model), Subwords.load(section.target_model)
    options = section.vocabulary_size, section.type, section.character_coverage
    files = _files(recipe.data.train)
    if section.joint:
        both = Subwords.train(itertools.chain.from_iterable(read_pairs(*files)), *options)
        return both, both
    return tuple(Subwords.train((pair[side] for pair in read_pairs(*files)), *options) for side in (0, 1))


def _files(pairs):
    return (pairs.tsv,) if pairs.tsv is not None else (pairs.source, pairs.target)


def _pairs(section):
    return None if section is None else list(read_pairs(*_files(section)))
