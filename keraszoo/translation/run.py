"""Prepares the run of a translator's recipe: corpora, vocabularies and an untrained translator."""

import functools
import itertools
import os

import keras

from keraszoo.errors import RecipeError
from keraszoo.evaluation.tokenizers import choose_tokenizer
from keraszoo.messages import say
from keraszoo.search import SearchOptions
from keraszoo.shipping.hub import is_address
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords
from keraszoo.translation.directory import MOST_SOURCE_TOKENS, subwords_of
from keraszoo.translation.training import make_corpus
from keraszoo.translation.transfer import start_from
from keraszoo.translation.translator import MAX_SOURCE_TOKENS, Translator

SIDES = "source", "target"


def prepare(recipe, checkpoints):
    """The untrained `Translator`, training corpus, validation pairs and arguments of `evaluate` of a recipe.

    The open `checkpoints` keep the vocabularies; see `keraszoo.recipes.runs.run_recipe`.
    """
    recipe.model_class()  # an unknown override is an error before the data are read
    validation, test = (
        None if pairs is None else list(read_pairs(*files_of(recipe, pairs)))
        for pairs in (recipe.data.validation, recipe.data.test)
    )
    sides = _subwords(recipe, checkpoints)
    keras.utils.set_random_seed(recipe.training.seed)
    model = make_model(recipe, *sides)
    search = SearchOptions(**recipe.search.model_dump())
    longest = min(max(MAX_SOURCE_TOKENS, recipe.data.max_length), MOST_SOURCE_TOKENS)
    translator = Translator(model, *sides, search, longest)
    copied = ""
    if recipe.model.start_from is not None and checkpoints.newest() is None:
        preset = recipe.preset(recipe.model.start_from)
        copied = f", {start_from(translator, Translator.from_preset(preset)):,} of them copied from {preset}"
    corpus = make_corpus(translator, read_pairs(*files_of(recipe, recipe.data.train)), recipe.data.max_length)
    say(
        f"{type(model).__name__}, {model.count_params():,} parameters{copied}; {len(corpus):,} pairs, "
        f"{corpus.dropped['blank']} blank and {corpus.dropped['too_long']} too long ones left out"
    )
    if test:
        sources, references = map(list, zip(*test, strict=True))
        tokenizer = choose_tokenizer(references, recipe.training.bleu_tokenizer)  # an error comes now
        test = sources, references, 64, tokenizer
    return translator, corpus, validation, test or None


def make_model(recipe, source_subwords, target_subwords):
    """Makes the untrained model of a recipe. Raises RecipeError for a value that its constructor refuses."""
    sizes = {
        "source_vocabulary_size": source_subwords.vocabulary_size,
        "target_vocabulary_size": target_subwords.vocabulary_size,
        "source_pad_id": source_subwords.pad_id,
        "target_pad_id": target_subwords.pad_id,
        "dtype": recipe.training.precision,
    }
    kind = recipe.model_class()
    try:
        model = kind.from_configuration(recipe.model.preset, **{**sizes, **recipe.model.overrides})
        model.build()  # checks some of the sizes
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model: {error}") from error
    return model


def _subwords(recipe, checkpoints):
    """The vocabularies of both sides: of a resumed run, from files, or trained."""
    if checkpoints.newest() is None:
        sides = new_subwords(recipe)
        checkpoints.files = {
            f"{name}.model": side.model_bytes for name, side in zip(SIDES, sides, strict=True)
        }
        return sides
    source, target = (Subwords(checkpoints.files[f"{name}.model"]) for name in SIDES)
    return (source, source) if source == target else (source, target)


def new_subwords(recipe):
    """The vocabularies of both sides, from the files of a recipe or trained on its corpus."""
    section = recipe.subwords
    if section.model is not None:
        place = recipe.preset(section.model)
        if is_address(place) or os.path.isdir(place) or not os.path.splitext(place)[1]:
            return subwords_of(place)
        both = Subwords.load(place)
        return both, both
    if section.source_model is not None:
        return tuple(map(Subwords.load, map(recipe.path, (section.source_model, section.target_model))))
    train = functools.partial(
        Subwords.train,
        vocabulary_size=section.vocabulary_size,
        model_type=section.type,
        character_coverage=section.character_coverage,
        normalization=section.normalization,
    )
    files = files_of(recipe, recipe.data.train)
    if section.joint:
        both = train(itertools.chain.from_iterable(read_pairs(*files)))
        return both, both
    return tuple(train(pair[side] for pair in read_pairs(*files)) for side in (0, 1))


def files_of(recipe, pairs):
    """The arguments of `read_pairs` for a `Pairs` section of a recipe."""
    texts = (pairs.tsv,) if pairs.tsv is not None else (pairs.source, pairs.target)
    return [recipe.path(text) for text in texts]
