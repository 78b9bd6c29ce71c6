"""How a translator is trained: its batches, loss and optimizer, and what its held-out pairs are asked."""

import hashlib

import keras
import numpy as np

from keraszoo.errors import DataError
from keraszoo.tasks.fitting import begin, fit_task, optimizer_of
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.batches import TokenBatches
from keraszoo.training.callbacks import HeldOut
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.translation.recipe import TrainingSection


def train_translator(translator, train, validation=None, directory=None, settings=None, checkpoints=None):
    """Trains a translator in place; see `Translator.fit`.

    In the end it has the weights that are best on the held-out pairs, by BLEU or by loss as the settings say:
    those of the best epoch, or the mean of the last `average_last` epochs where that is better. Without
    held-out pairs it has the mean, or the last.

    Args:
        checkpoints: a folder, where a run that stopped is taken up, and which is deleted in the end; or the
            open `Checkpoints` of somebody who sees to that; None: none.

    Returns:
        A `keras.callbacks.History`.
    """
    settings = TrainingSection.checked(settings or {})
    replicas, shapes, jit_compile = begin(
        translator.model, settings, directory, validated=validation is not None
    )
    corpus = train if isinstance(train, ParallelCorpus) else make_corpus(translator, train)
    batches = TokenBatches(
        corpus, settings.batch_tokens, seed=settings.seed, replicas=replicas, shapes=shapes
    )
    validation = None if validation is None else list(validation)
    held_out = None if validation is None else _held_out(translator, validation, settings)
    return fit_task(
        translator,
        batches,
        settings,
        lambda model: compile_model(model, settings, jit_compile),
        held_out,
        directory,
        checkpoints,
        _digest(corpus, validation),
        counted="target_tokens",
    )


def _digest(corpus, validation):
    """The SHA-256 of all that is trained on and judged by."""
    digest = hashlib.sha256()
    for side in (corpus.sources, corpus.targets):
        digest.update(np.ascontiguousarray(side.ids))
        digest.update(np.ascontiguousarray(side.offsets))
    for pair in validation or ():
        digest.update("\t".join(pair).encode())
    return digest.hexdigest()


def make_corpus(translator, pairs, max_length=None, directory=None):
    """Encodes pairs of strings with the translator's vocabularies into a `ParallelCorpus`."""
    sides = translator.source_subwords, translator.target_subwords
    return ParallelCorpus.from_pairs(pairs, *sides, max_length=max_length, directory=directory)


def compile_model(model, settings, jit_compile=False):
    """Compiles a translation model with loss and optimizer as a recipe's `training` section says."""
    loss = TokenCrossentropy(settings.label_smoothing)
    model.compile(optimizer_of(model, settings), loss, jit_compile=jit_compile)


def _held_out(translator, validation, settings):
    if not validation:
        raise DataError("validation: expected at least one pair, got none")
    sources, references = map(list, zip(*validation, strict=True))
    corpus = make_corpus(translator, validation)
    longest = 1 + int(max(corpus.source_lengths.max(), corpus.target_lengths.max()))
    shapes = (settings.shapes or 16) if keras.backend.backend() == "jax" else None
    batches = TokenBatches(corpus, max(settings.batch_tokens, longest), shuffle=False, shapes=shapes)
    translate = translator.translate if settings.monitor == "val_bleu" else None
    return HeldOut(translate, sources, references, batches)
