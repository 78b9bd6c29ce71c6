"""How a tagger is trained: its batches and optimizer, and what its held-out sentences are asked."""

import hashlib

import keras
from pydantic import ValidationError

from keraszoo.errors import DataError, RecipeError
from keraszoo.saving.model_directory import check_replaceable
from keraszoo.tasks.fitting import fit_and_choose, opened, rows_multiple, writes_files
from keraszoo.tasks.recipe_errors import recipe_error
from keraszoo.tasks.tagger_recipe import TaggerTrainingSection
from keraszoo.training.held_out_spans import HeldOutSpans
from keraszoo.training.optimizers import make_optimizer
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
    settings = checked_settings(settings or {})
    if directory is not None:
        check_replaceable(directory)  # now, not when the first epoch is over
    model = tagger.model
    if settings.precision != model.dtype_policy.name:
        raise RecipeError(
            f"fit: precision: the model is of {model.dtype_policy.name}, got {settings.precision}"
        )
    replicas = rows_multiple(settings)
    keras.utils.set_random_seed(settings.seed)
    jit_compile = keras.backend.backend() == "jax" if settings.jit_compile is None else settings.jit_compile
    shapes = 16 if settings.shapes is None and jit_compile else settings.shapes
    rows = TaggedRows(train, tagger.vocabulary, model.features)
    batches = TagBatches(rows, settings.batch_tokens, seed=settings.seed, replicas=replicas, shapes=shapes)
    held_out = None if validation is None else _held_out(tagger, validation, settings)
    writing = writes_files(settings)
    save = (lambda logs: _save(tagger, directory, logs)) if directory is not None and writing else None
    identity = {"training": settings.deciding(), "data": _digest(train, validation)}
    with opened(checkpoints, identity, writing) as there:
        history, chosen = fit_and_choose(
            model,
            batches,
            settings,
            lambda model: compile_model(model, settings, jit_compile),
            held_out,
            save,
            directory,
            there,
        )
        figures = {"steps": history.steps, "tokens": history.target_tokens, **history.history}
        tagger.metrics["training"] = figures
        if there is not None:
            figures["checkpoint_seconds"] = round(history.checkpoint_seconds, 3)
        if save is not None:
            save(chosen)
    return history


def checked_settings(settings):
    """Keyword arguments as the `training` section of a tagger's recipe.

    Raises:
        RecipeError: an unknown setting, or one of the wrong type or out of range.
    """
    try:
        return TaggerTrainingSection.model_validate(settings)
    except ValidationError as error:
        raise recipe_error(error.errors(), TaggerTrainingSection, "fit", {}) from None


def compile_model(model, settings, jit_compile=False):
    """Compiles a tagging model, which has its own loss, with an optimizer as the settings say."""
    optimizer = settings.optimizer.model_dump()
    if optimizer["schedule"] == "transformer":
        optimizer["d_model"] = model.get_config().get("d_model")
        if optimizer["d_model"] is None:
            kind = type(model).__name__
            raise RecipeError(f"fit: optimizer.schedule: transformer wants a d_model, which {kind} has not")
    given = {key: value for key, value in optimizer.items() if value is not None}
    model.compile(optimizer=make_optimizer(**given, accumulate=settings.accumulate), jit_compile=jit_compile)


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


def _save(tagger, directory, figures):
    if figures:
        held_out = {key: float(figures[key]) for key in figures if key.startswith(("val_", "averaged"))}
        tagger.metrics["validation"] = held_out
    tagger.save_to_preset(directory)
