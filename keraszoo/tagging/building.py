"""Makes an untrained tagger from a corpus, word vectors and a model's sizes."""

from keraszoo.errors import DataError, KerasZooError, RecipeError
from keraszoo.messages import shown, suggestion
from keraszoo.registry import model_arguments, model_classes, models_of
from keraszoo.tagging.pretrained import make_pretrained
from keraszoo.tagging.subword_vectors import learn_subwords
from keraszoo.text.tagging_features import CASINGS, TaggingVocabulary
from keraszoo.text.tokens import fitting_rules
from keraszoo.text.word_vectors import DEFAULT_BACKOFF

OPTIONS = {
    "scheme": "IOB2",
    "constrain": "decode",
    "keep": "corpus",
    "backoff": DEFAULT_BACKOFF,
    "token_rules": None,
}


def make_tagger(cls, sentences, vectors, model, options):
    """Makes an `EntityTagger` of class `cls`; `model` is (name in a recipe, configuration or None).

    See `EntityTagger.for_sentences` for the rest.
    """
    name, configuration = model
    if name == "pretrained":
        return make_pretrained(cls, sentences, vectors, configuration, options)
    arguments = dict(options)
    given = {key: arguments.pop(key, default) for key, default in OPTIONS.items()}
    kind = _checked_kind(name, arguments)
    tokens = {token for sentence in sentences for token in sentence.tokens}
    all_vectors, keep = vectors, tokens if given["keep"] == "corpus" else given["keep"]
    if isinstance(keep, str) and keep != "all":
        raise RecipeError(f"keep: expected 'corpus', 'all' or a list of words, got {keep!r}")
    if vectors is not None and not hasattr(vectors, "restrict"):
        raise DataError(
            f"vectors: expected WordVectors, got {shown(vectors)}; `WordVectors.read` reads a file"
        )
    if vectors is None and given["keep"] != "corpus":
        raise RecipeError("keep: there are no word vectors to keep")
    if vectors is not None and keep != "all":
        vectors = vectors.restrict(sorted(keep), given["backoff"])
    if vectors is not None and not len(vectors):
        raise DataError("expected word vectors for some words of the sentences, got none")
    vocabulary = TaggingVocabulary.from_sentences(
        sentences,
        sorted(tokens - {""}) if vectors is None else vectors.words,
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
        preset = configuration or models_of("tagging")[name].preset
        made = kind.from_configuration(preset, **{**sizes, **arguments})
        made.build()  # checks some of the sizes
        if vectors is not None:
            made.words.set_vectors(vectors.matrix)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model: {error}") from error
    if made.words.subwords is not None and vectors is None:
        raise RecipeError("model: subword_buckets needs word vectors, from which n-grams are learned")
    if made.words.subwords is not None:
        learn_subwords(made.words.subwords, vocabulary, all_vectors)
    return cls(made, vocabulary)


def vocabulary_sizes(vocabulary):
    """Returns the sizes of a vocabulary, a dict by the names of a `TaggingModel`'s arguments."""
    return {
        "num_tags": len(vocabulary.tags),
        "vocabulary_size": len(vocabulary.words) + 2,  # padding and the unknown word
        "character_vocabulary_size": len(vocabulary.characters) + 2,
        "casing_size": len(CASINGS) + 1,
    }


def check_sizes(model, vocabulary):
    """Raises KerasZooError if a model and a vocabulary do not fit each other."""
    for name, size in vocabulary_sizes(vocabulary).items():
        used = getattr(model, name)
        if used is not None and used != size:
            raise KerasZooError(f"{name} is {size} in the vocabulary, but {used} in the model")
    subwords, rows = vocabulary.subwords, getattr(model, "subword_vocabulary_size", 0)
    if (subwords is None) != (not rows) or (subwords and subwords.vocabulary_size > rows):
        known = subwords and f"{subwords.vocabulary_size:,}"
        raise KerasZooError(f"the tokenizer has {known or 'no'} subwords, but the model {rows:,}")


def _checked_kind(name, arguments):
    """The class of a model by its name in a recipe, whose constructor must accept the arguments."""
    classes = model_classes("tagging")
    if name not in classes:
        raise RecipeError(f"model: there is no {name!r}{suggestion(name, list(classes))}")
    kind = classes[name]
    allowed = model_arguments(kind)
    for key in arguments:
        if key not in allowed:
            raise RecipeError(f"model: {kind.__name__} has no argument {key!r}{suggestion(key, allowed)}")
    return kind
