"""Trains memory networks by the paper's schedule, from several random starts."""

import math
from typing import Annotated

import keras
import numpy as np
from keras import ops
from pydantic import Field

from keraszoo.errors import DataError, KerasZooError
from keraszoo.recipes.sections import Count, Positive, Section

BATCH = 500  # questions read at a time
ROWS_AT_A_TIME = 20_000  # questions of one call of Keras' `fit`: several epochs of a small corpus


class AnsweringSection(Section):
    """The settings of `fit` of a question answerer.

    `linear_epochs` come first, without the softmax of the hops (0: no linear start), then `epochs` with it.
    With a linear start, the learning rate is half of `learning_rate` from the beginning. It is halved every
    `halve_every` epochs that follow the linear start. `batch_size` counts questions. `global_clipnorm` bounds
    the norm of the gradient of all weights. `validation_share` of the questions, drawn at random, is not
    trained on. Of `restarts` random starts, with the seeds `seed`, `seed + 1` and so on, the best is kept.
    `jit_compile` compiles an update by XLA: some seconds at the start, then less than half the time; never
    under PyTorch.
    """

    epochs: Count = 100
    linear_epochs: Annotated[int, Field(ge=0)] = 20
    halve_every: Count = 25
    learning_rate: Positive = 0.01
    batch_size: Count = 32
    global_clipnorm: Positive = 40.0
    validation_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    restarts: Count = 10
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    jit_compile: bool = True


def train_answerer(answerer, questions, settings, callbacks=None, verbose=0):
    """Trains an answerer in place and returns the figures of each start; see `QuestionAnswerer.fit`.

    Plain SGD minimises the sum of the losses of a batch, with the gradient clipped. The weights with the
    lowest mean loss on all questions, including those of the validation, are kept.

    Departures: the paper ends the linear start when the validation loss stops falling; here it has a fixed
    length, as in the authors' code. The paper selects by the training loss alone.

    This is not the training path of the other tasks: an update is so small that Keras must run several
    epochs of them in one call of `fit` (`steps_per_execution`) on arrays in memory, and every start must use
    the same compiled program.
    """
    arrays = _arrays(answerer, questions)
    order = np.random.default_rng(settings.seed).permutation(len(questions))
    held_out = order[: max(1, round(settings.validation_share * len(questions)))]
    train = order[len(held_out) :]
    steps = len(train) // settings.batch_size
    if steps == 0:
        raise DataError(
            f"expected at least {settings.batch_size} questions to train on, got {len(train)}, and "
            f"{len(held_out)} for the validation"
        )

    model = answerer.model
    together = _epochs_together(settings, len(train))
    optimizer = keras.optimizers.SGD(_schedule(settings, steps), global_clipnorm=settings.global_clipnorm)
    backend = keras.backend.backend()
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"),
        jit_compile=settings.jit_compile and backend != "torch",
        steps_per_execution=steps * together if backend == "tensorflow" else 1,
    )
    optimizer.build(model.trainable_variables)
    starts, best = [], None
    for start_seed in range(settings.seed, settings.seed + settings.restarts):
        _restart(model, optimizer, start_seed)
        draw = np.random.default_rng(start_seed)
        for epoch in range(0, settings.linear_epochs + settings.epochs, together):
            model.linear.assign(float(epoch < settings.linear_epochs))
            used = steps * settings.batch_size
            rows = np.concatenate([draw.permutation(train)[:used] for _ in range(together)])
            story, question, answers = (array[rows] for array in arrays)
            model.fit(
                (story, question),
                answers,
                batch_size=settings.batch_size,
                shuffle=False,
                callbacks=callbacks,
                verbose=verbose,
            )
        start = {"seed": start_seed, **_figures(model, arrays, train)}
        start |= {f"validation_{name}": value for name, value in _figures(model, arrays, held_out).items()}
        starts.append(start)
        total = start["loss"] * len(train) + start["validation_loss"] * len(held_out)
        if math.isfinite(total) and (best is None or total < best[0]):
            best = total, start, model.get_weights()
    if best is None:
        raise KerasZooError("training diverged from every start; use a lower learning_rate")
    model.set_weights(best[2])
    figures = {"questions": len(train), "restarts": settings.restarts, **best[1]}
    answerer.metrics = {"training": figures}  # without those of earlier weights
    return starts


def _arrays(answerer, questions):
    """Arrays of story, question and answer ids."""
    if not questions:
        raise DataError("questions: expected at least one, got none")
    story, question = answerer.encode(questions)
    answers = answerer.vocabulary.ids([each.answer for each in questions])
    return story, question, np.array(answers, "int32")


def _epochs_together(settings, questions):
    """The number of epochs in one call of `fit`; the overhead of a call equals a few hundred updates."""
    common = math.gcd(settings.epochs, settings.linear_epochs)
    divisors = [n for n in range(1, common + 1) if common % n == 0 and n * questions <= ROWS_AT_A_TIME]
    return max(divisors, default=1)


def _schedule(settings, steps):
    linear = settings.linear_epochs
    rate = settings.learning_rate / 2 if linear else settings.learning_rate
    borders = list(range(linear + settings.halve_every, linear + settings.epochs, settings.halve_every))
    if not borders:
        return rate
    return keras.optimizers.schedules.PiecewiseConstantDecay(
        [border * steps - 1 for border in borders], [rate / 2**n for n in range(len(borders) + 1)]
    )


def _restart(model, optimizer, seed):
    """Gives a compiled model new random weights, so that nothing is compiled twice."""
    keras.utils.set_random_seed(seed % 2**32)
    new = type(model).from_config(model.get_config())
    new.build()
    model.set_weights(new.get_weights())
    model.seed_generator.state.assign(new.seed_generator.state)
    optimizer.iterations.assign(0)  # plain SGD has no other state


def _figures(model, arrays, rows):
    """Mean loss in nats and error in per cent of some questions."""
    losses, wrong = [], 0
    for first in range(0, len(rows), BATCH):
        story, question, answers = (array[rows[first : first + BATCH]] for array in arrays)
        logits = ops.cast(model((story, question), training=False), "float32")
        loss = ops.sparse_categorical_crossentropy(answers, logits, from_logits=True)
        losses.append(ops.convert_to_numpy(loss))
        wrong += int((np.argmax(ops.convert_to_numpy(logits), axis=1) != answers).sum())
    return {"loss": float(np.concatenate(losses).mean()), "error": 100 * wrong / len(rows)}
