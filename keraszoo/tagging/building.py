"""An untrained tagger made of a corpus, of word vectors and of a model's sizes."""

import inspect

from keraszoo import models
from keraszoo.errors import DataError, RecipeError
from keraszoo.tagging.entity_tagger import vocabulary_sizes
from keraszoo.tagging.recipe import TAGGING_MODELS, TAGGING_PRESETS
from keraszoo.tasks.recipe_errors import suggestion
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.text.tokens import fitting_rules
from keraszoo.text.word_vectors import DEFAULT_BACKOFF

OPTIONS = {
    "scheme": "IOB2",
    "constrain": "decode",
    "keep": "corpus",
    "backoff": DEFAULT_BACKOFF,
    "token_rules": None,
}


def make_tagger(cls, sentences, vectors=None, model="recurrent", preset=None, options=None):
    """Makes a tagger that knows the tags, words and characters of sentences.

    Args:
        cls: `EntityTagger`.
        sentences: list of `TaggedSentence`.
        vectors: `WordVectors`; `None`: the model learns vectors of the words that occur.
        model: `"attention"`, `"recurrent"` or `"transformer"`.
        preset: of the model's sizes; `None`: the first of `TAGGING_PRESETS`.
        options: dict with any of

            - `scheme`: of the tags that the model predicts, `"IOB2"` or `"BIOES"`;
            - `constrain`: where the scheme holds, `"decode"`, `"both"` or `"none"`;
            - `keep`: `"corpus"`, the vectors that a word of the sentences makes use of, or `"all"`;
            - `backoff`: the chain by which a word finds its vector;
            - `token_rules`: how raw text is cut into words, a key of `keraszoo.text.tokens.TOKEN_RULES`;
              `None`: as the sentences are;

            and of the arguments of the model's constructor.

    Returns:
        A `cls`.

    Raises:
        DataError: no sentence, or no entity in any.
        RecipeError: an unknown model, preset or option.
    """
    arguments = dict(options or {})
    given = {name: arguments.pop(name, default) for name, default in OPTIONS.items()}
    kind = model_kind(model)
    _check_arguments(kind, arguments)
    tokens = {token for sentence in sentences for token in sentence.tokens}
    if vectors is not None and given["keep"] == "corpus":
        vectors = vectors.restrict(sorted(tokens), given["backoff"])
    vocabulary = TaggingVocabulary.from_sentences(
        sentences,
        sorted(tokens) if vectors is None else vectors.words,
        scheme=given["scheme"],
        backoff=given["backoff"],
        token_rules=given["token_rules"] or fitting_rules(sentence.tokens for sentence in sentences),
    )
    if not vocabulary.labels:
        raise DataError(f"expected sentences with entities to learn from, got none in {len(sentences):,}")
    sizes = {
        **vocabulary_sizes(vocabulary),
        "allowed": None if given["constrain"] == "none" else vocabulary.transitions(),
        "constrain": given["constrain"],
    }
    if vectors is None:
        sizes["train_vectors"] = True
    else:
        sizes["vector_width"] = vectors.width
    try:
        made = kind.preset(preset or TAGGING_PRESETS[model][0], **{**sizes, **arguments})
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model: {error}") from error
    if vectors is not None:
        made.set_vectors(vectors.matrix)
    return cls(made, vocabulary)


def model_arguments(kind):
    """Names of the arguments of a model's constructor that a recipe may override."""
    names = set()
    for base in (kind, models.TaggingModel):
        names.update(inspect.signature(base).parameters)
    set_here = {
        "num_tags",
        "vocabulary_size",
        "character_vocabulary_size",
        "casing_size",
        "allowed",
        "constrain",
    }
    return sorted(names - {"kwargs"} - set_here) + ["dtype"]


def model_kind(model):
    """The class of a model by its name in a recipe; RecipeError if there is none."""
    if model not in TAGGING_MODELS:
        raise RecipeError(f"model: there is no {model!r}{suggestion(model, list(TAGGING_MODELS))}")
    return getattr(models, TAGGING_MODELS[model])


def _check_arguments(kind, arguments):
    allowed = model_arguments(kind)
    for name in arguments:
        if name not in allowed:
            raise RecipeError(f"model: {kind.__name__} has no argument {name!r}{suggestion(name, allowed)}")
