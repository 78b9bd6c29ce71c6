"""Makes an untrained tagger from a corpus, word vectors or an encoder, and a model's sizes."""

import dataclasses

from keraszoo.errors import DataError, KerasZooError, RecipeError
from keraszoo.messages import shown, suggestion
from keraszoo.registry import model_arguments, model_classes, models_of
from keraszoo.tagging.pretrained import read_encoder
from keraszoo.tagging.subword_vectors import learn_subwords
from keraszoo.text.tagging_features import CASINGS, TaggingVocabulary
from keraszoo.text.tokens import fitting_rules
from keraszoo.text.word_vectors import DEFAULT_BACKOFF

OPTIONS = {"scheme": "IOB2", "constrain": "decode", "token_rules": None}
OF_VECTORS = {"keep": "corpus", "backoff": DEFAULT_BACKOFF}


def make_tagger(cls, sentences, vectors, model, options):
    """Makes an `EntityTagger` of class `cls`; `model` is (name in a recipe, configuration or None).

    See `EntityTagger.for_sentences` for the rest.
    """
    name, configuration = model
    arguments, pretrained = dict(options), name == "pretrained"
    defaults = OPTIONS if pretrained else {**OPTIONS, **OF_VECTORS}
    given = {key: arguments.pop(key, default) for key, default in defaults.items()}
    place = arguments.pop("backbone", None) if pretrained else None
    kind = _checked_kind(name, arguments)
    if pretrained:
        encoder, config, subwords = _encoder(cls, vectors, place)
        words = {"words": (), "subwords": subwords}
        sizes = {"backbone": config, "start_id": subwords.start_id, "end_id": subwords.end_id}
    else:
        tokens = {token for sentence in sentences for token in sentence.tokens}
        kept = _kept(vectors, tokens, given)
        words = {"words": sorted(tokens - {""}) if kept is None else kept.words, "backoff": given["backoff"]}
        sizes = {"train_vectors": True} if kept is None else {"vector_width": kept.width}
    rules = given["token_rules"] or fitting_rules(sentence.tokens for sentence in sentences)
    vocabulary = TaggingVocabulary.from_sentences(
        sentences, **words, scheme=given["scheme"], token_rules=rules
    )
    if not vocabulary.labels:
        raise DataError(f"expected sentences with entities to learn from, got none in {len(sentences):,}")
    if pretrained:
        vocabulary = dataclasses.replace(vocabulary, characters=())
    sizes |= {"num_tags": len(vocabulary.tags)} if pretrained else vocabulary_sizes(vocabulary)
    sizes["allowed"] = None if given["constrain"] == "none" else vocabulary.transitions()
    sizes["constrain"] = given["constrain"]
    try:
        preset = configuration or models_of("tagging")[name].preset
        made = kind.from_configuration(preset, **{**sizes, **arguments})
        made.build()  # checks some of the sizes
        if pretrained:
            made.words.backbone.set_weights(encoder.get_weights())
        elif vectors is not None:
            made.words.set_vectors(kept.matrix)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model: {error}") from error
    if not pretrained and made.words.subwords is not None:
        if vectors is None:
            raise RecipeError("model: subword_buckets needs word vectors, from which n-grams are learned")
        learn_subwords(made.words.subwords, vocabulary, vectors)
    return cls(made, vocabulary)


def _encoder(cls, vectors, place):
    """What `read_encoder` reads, of a tagger that has no word vectors."""
    if vectors is not None:
        raise RecipeError("model: pretrained reads subwords and no word vectors; leave the vectors out")
    if place is None:
        raise RecipeError("model: backbone is missing: hf://USER/NAME, a preset of KerasHub or a folder")
    return read_encoder(str(place), cls)


def _kept(vectors, tokens, given):
    """The word vectors of a tagger, which may be `None`: those of the words that it keeps."""
    keep = tokens if given["keep"] == "corpus" else given["keep"]
    if isinstance(keep, str) and keep != "all":
        raise RecipeError(f"keep: expected 'corpus', 'all' or a list of words, got {keep!r}")
    if vectors is None:
        if given["keep"] != "corpus":
            raise RecipeError("keep: there are no word vectors to keep")
        return None
    if not hasattr(vectors, "restrict"):
        raise DataError(
            f"vectors: expected WordVectors, got {shown(vectors)}; `WordVectors.read` reads a file"
        )
    kept = vectors if keep == "all" else vectors.restrict(sorted(keep), given["backoff"])
    if not len(kept):
        raise DataError("expected word vectors for some words of the sentences, got none")
    return kept


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
