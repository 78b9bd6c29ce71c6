"""How a translator is trained: batches, loss, optimizer and callbacks joined for stock `fit`."""

import sys

import keras
from pydantic import ValidationError

from keraszoo.errors import DataError, RecipeError
from keraszoo.pretrained import check_replaceable
from keraszoo.tasks.recipe import TrainingSection
from keraszoo.tasks.recipe_errors import recipe_error
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.batches import TokenBatches
from keraszoo.training.callbacks import BestWeights, Divergence, HeldOut, LastWeights, Throughput
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.periods import Periods


def train_translator(translator, train, validation=None, directory=None, settings=None):
    """Trains a translator in place; see `Translator.fit`.

    In the end it has the weights that are best on the held-out pairs, by BLEU or by loss as the settings say:
    those of the best epoch, or the mean of the last `average_last` epochs where that is better. Without
    held-out pairs it has the mean, or the last.

    Returns:
        A `keras.callbacks.History`.
    """
    settings = checked_settings(settings or {})
    if directory is not None:
        check_replaceable(directory)  # now, not when the first epoch is over
    corpus = train if isinstance(train, ParallelCorpus) else make_corpus(translator, train)
    keras.utils.set_random_seed(settings.seed)
    jit_compile = keras.backend.backend() == "jax" if settings.jit_compile is None else settings.jit_compile
    shapes = 16 if settings.shapes is None and jit_compile else settings.shapes
    batches = TokenBatches(corpus, settings.batch_tokens, seed=settings.seed, shapes=shapes)
    periods = Periods(batches, settings.steps_per_evaluation)
    if settings.precision != translator.model.dtype_policy.name:
        raise RecipeError(
            f"fit: precision: the model is of {translator.model.dtype_policy.name}, got {settings.precision}"
        )
    compile_model(translator.model, settings, jit_compile)

    throughput = Throughput(periods, settings.steps)
    callbacks = [periods.at_period(), throughput, Divergence()]
    held_out, best, last = None, None, LastWeights(settings.average_last)
    if validation is not None:
        held_out = _held_out(translator, validation, settings)
        save = None if directory is None else lambda logs: _save(translator, directory, logs)
        best = BestWeights(settings.monitor, settings.patience, save)
        callbacks += [held_out, best]
    if settings.average_last > 1:
        callbacks.append(last)
    if settings.tensorboard:
        callbacks.append(keras.callbacks.TensorBoard(f"{directory or 'runs'}.logs", write_graph=False))

    steps = settings.epochs * len(batches)
    steps = steps if settings.steps is None else min(steps, settings.steps)
    history = translator.model.fit(
        periods,
        epochs=-(-steps // len(periods)),
        shuffle=False,
        callbacks=callbacks,
        verbose=1 if sys.stderr.isatty() else 2,
    )
    figures = {"steps": throughput.step, "target_tokens": throughput.target_tokens, **history.history}
    translator.metrics["training"] = figures
    chosen = _choose_weights(translator, held_out, best, last)
    if directory is not None:
        _save(translator, directory, chosen)
    return history


def checked_settings(settings):
    """Keyword arguments as the `training` section of a recipe.

    Raises:
        RecipeError: an unknown setting, or one of the wrong type or out of range.
    """
    try:
        return TrainingSection.model_validate(settings)
    except ValidationError as error:
        raise recipe_error(error.errors(), TrainingSection, "fit", {}) from None


def make_corpus(translator, pairs, max_length=None, directory=None):
    """Encodes pairs of strings with the translator's vocabularies into a `ParallelCorpus`."""
    sides = translator.source_subwords, translator.target_subwords
    return ParallelCorpus.from_pairs(pairs, *sides, max_length=max_length, directory=directory)


def compile_model(model, settings, jit_compile=False):
    """Compiles a translation model with loss and optimizer as a recipe's `training` section says."""
    optimizer = settings.optimizer.model_dump()
    if optimizer["schedule"] == "transformer":
        d_model = model.get_config().get("d_model")
        if d_model is None:
            kind = type(model).__name__
            raise RecipeError(f"fit: optimizer.schedule: transformer wants a d_model, which {kind} has not")
        optimizer["d_model"] = d_model
    given = {key: value for key, value in optimizer.items() if value is not None}
    loss = TokenCrossentropy(settings.label_smoothing)
    model.compile(optimizer=make_optimizer(**given), loss=loss, jit_compile=jit_compile)


def _held_out(translator, validation, settings):
    validation = list(validation)
    if not validation:
        raise DataError("validation: expected at least one pair, got none")
    sources, references = map(list, zip(*validation, strict=True))
    corpus = make_corpus(translator, validation)
    longest = 1 + int(max(corpus.source_lengths.max(), corpus.target_lengths.max()))
    shapes = (settings.shapes or 16) if keras.backend.backend() == "jax" else None
    batches = TokenBatches(corpus, max(settings.batch_tokens, longest), shuffle=False, shapes=shapes)
    translate = translator.translate if settings.monitor == "val_bleu" else None
    return HeldOut(translate, sources, references, batches)


def _choose_weights(translator, held_out, best, last):
    """Gives the model the best epoch's weights or the mean of the last, whichever is better."""
    model = translator.model
    final = {}
    if held_out is None:
        if last.kept:
            model.set_weights(last.mean())
        return final
    model.set_weights(best.weights)
    final = best.logs
    if last.kept:
        model.set_weights(last.mean())
        averaged = held_out.figures(model)
        if best.is_better(averaged):
            return {**averaged, "averaged": len(last.kept)}
        model.set_weights(best.weights)
    return final


def _save(translator, directory, figures):
    if figures:
        held_out = {key: float(figures[key]) for key in figures if key.startswith(("val_", "averaged"))}
        translator.metrics["validation"] = held_out
    translator.save_to_preset(directory)
