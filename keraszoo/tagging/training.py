"""How a tagger is trained: its batches and optimizer, and what its held-out sentences are asked."""

import hashlib

import keras

from keraszoo.errors import DataError
from keraszoo.tagging.recipe import TaggerTrainingSection
from keraszoo.tasks.fitting import begin, fit_task, optimizer_of
from keraszoo.training.entity_validation import HeldOutSpans
from keraszoo.training.tag_batches import TagBatches
from keraszoo.training.tagged_rows import TaggedRows


def train_tagger(tagger, train, validation=None, directory=None, settings=None, checkpoints=None):
    """Trains a tagger in place; see `EntityTagger.fit`.

    In the end it has the weights that are best on the held-out sentences, by strict F1 or by loss as the
    settings say: those of the best epoch, or the mean of the last `average_last` epochs where that is better.
    Without held-out sentences it has the mean, or the last.

    Args:
        tagger: an `EntityTagger`.
        train: list of `TaggedSentence`.
        validation: the same, or `None`.
        directory: where the tagger is saved, or `None`.
        settings: dict, as a recipe's `training` section.
        checkpoints: a folder, where a run that stopped is taken up, and which is deleted in the end; or the
            open `Checkpoints` of somebody who sees to that; None: none.

    Returns:
        A `keras.callbacks.History`.
    """
    settings = TaggerTrainingSection.checked(settings or {})
    replicas, shapes, jit_compile = begin(tagger.model, settings, directory, validated=validation is not None)
    rows = TaggedRows(train, tagger.vocabulary, tagger.model.features)
    batches = TagBatches(rows, settings.batch_tokens, seed=settings.seed, replicas=replicas, shapes=shapes)
    held_out = None if validation is None else _held_out(tagger, validation, settings)
    return fit_task(
        tagger,
        batches,
        settings,
        lambda model: compile_model(model, settings, jit_compile),
        held_out,
        directory,
        checkpoints,
        _digest(train, validation),
        counted="tokens",
    )


def compile_model(model, settings, jit_compile=False):
    """Compiles a tagging model, which has its own loss, with an optimizer as the settings say."""
    model.compile(optimizer_of(model, settings), jit_compile=jit_compile)


def _held_out(tagger, validation, settings):
    if not validation:
        raise DataError("validation: expected at least one sentence, got none")
    rows = TaggedRows(validation, tagger.vocabulary, tagger.model.features)
    shapes = (settings.shapes or 16) if keras.backend.backend() == "jax" else None
    longest = max(settings.batch_tokens, int(rows.lengths.max()))
    batches = TagBatches(rows, longest, shuffle=False, shapes=shapes)
    return HeldOutSpans(validation, batches, tagger.vocabulary)


def _digest(*corpora):
    """The SHA-256 of all that is trained on and judged by."""
    digest = hashlib.sha256()
    for sentences in corpora:
        for sentence in sentences or ():
            digest.update("\0".join((*sentence.tokens, *sentence.tags, "")).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()
