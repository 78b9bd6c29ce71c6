"""Training of memory networks: the paper's schedule, from several random starts."""

import math

import keras
import numpy as np
from keras import ops

from keraszoo.errors import DataError, KerasZooError

ROWS_AT_A_TIME = 20_000  # questions handed to `fit` in one piece: several epochs of a small corpus


def train_answerer(
    answerer,
    questions,
    epochs=100,
    linear_epochs=20,
    halve_every=25,
    learning_rate=0.01,
    batch_size=32,
    clipnorm=40.0,
    validation_share=0.1,
    restarts=10,
    seed=1,
    jit_compile=True,
    report=None,
):
    """Trains an answerer in place; see `QuestionAnswerer.fit`.

    Plain SGD on the sum of the losses of a batch, whose gradient is scaled down to `clipnorm`. First comes
    the linear start: `linear_epochs` without the softmax of the hops; then `epochs` with it, in which the
    learning rate is halved every so many. With a linear start both begin at half the learning rate. That
    is done anew for each random start; the weights kept are those with the lowest mean loss on all
    questions given, those of validation, which are not trained on, included.

    Departures: the paper ends the linear start when the validation loss stops falling; here it has a fixed
    length, as in the authors' code. The paper picks by the training loss alone.

    Args:
        answerer: a `QuestionAnswerer`.
        questions: list of `Question`.
        epochs: with the softmax.
        linear_epochs: without it, before; 0: no linear start.
        halve_every: epochs after which the learning rate is halved.
        learning_rate: eta, half of which is used with a linear start.
        batch_size: questions of an update; what is left over of an epoch is left out of it.
        clipnorm: longest gradient, over all weights together.
        validation_share: of the questions, drawn at random, in (0, 1).
        restarts: random starts.
        seed: of the first start; the next has the next.
        jit_compile: have XLA compile an update: some seconds at the start, and then less than half the time;
            never under PyTorch.
        report: called with the dict of each start when it is over.

    Returns:
        List of dicts, one for each start: `seed`; `loss` and `validation_loss`, in nats a question; `error`
        and `validation_error`, in per cent.

    Raises:
        KerasZooError: a setting is out of range, or training diverged from every start.
        DataError: there are fewer questions than make one batch and one for validation.
    """
    _check_counts(epochs=epochs, halve_every=halve_every, batch_size=batch_size, restarts=restarts)
    if not isinstance(linear_epochs, int) or linear_epochs < 0:
        raise KerasZooError(f"linear_epochs: expected 0 or a positive integer, got {linear_epochs!r}")
    if not 0 < validation_share < 1:
        raise KerasZooError(f"validation_share: expected a number between 0 and 1, got {validation_share!r}")
    for name, value in (("learning_rate", learning_rate), ("clipnorm", clipnorm)):
        if not value > 0:
            raise KerasZooError(f"{name}: expected a number above 0, got {value!r}")
    arrays = _arrays(answerer, questions)
    order = np.random.default_rng(seed).permutation(len(questions))
    held_out = order[: max(1, round(validation_share * len(questions)))]
    train = order[len(held_out) :]
    steps = len(train) // batch_size
    if steps == 0:
        raise DataError(f"expected more than {batch_size} questions, got {len(questions)}")

    model = answerer.model
    together = _epochs_together(epochs, linear_epochs, len(train))
    rate = _schedule(learning_rate, epochs, linear_epochs, halve_every, steps)
    optimizer = keras.optimizers.SGD(rate, global_clipnorm=clipnorm)
    backend = keras.backend.backend()
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"),
        jit_compile=jit_compile and backend != "torch",
        steps_per_execution=steps * together if backend == "tensorflow" else 1,
    )
    optimizer.build(model.trainable_variables)
    starts, best = [], None
    for start_seed in range(seed, seed + restarts):
        _start_anew(model, optimizer, start_seed)
        draw = np.random.default_rng(start_seed)
        for epoch in range(0, linear_epochs + epochs, together):
            model.linear.assign(float(epoch < linear_epochs))
            rows = np.concatenate([draw.permutation(train)[: steps * batch_size] for _ in range(together)])
            story, question, answers = (array[rows] for array in arrays)
            model.fit((story, question), answers, batch_size=batch_size, shuffle=False, verbose=0)
        start = {"seed": start_seed, **_figures(model, arrays, train)}
        start |= {f"validation_{name}": value for name, value in _figures(model, arrays, held_out).items()}
        starts.append(start)
        if report is not None:
            report(start)
        total = start["loss"] * len(train) + start["validation_loss"] * len(held_out)
        if math.isfinite(total) and (best is None or total < best[0]):
            best = total, start, model.get_weights()
    if best is None:
        raise KerasZooError("training diverged from every start; take a lower learning rate")
    model.set_weights(best[2])
    answerer.metrics["training"] = {"questions": len(train), "restarts": restarts, **best[1]}
    return starts


def _check_counts(**counts):
    for name, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise KerasZooError(f"{name}: expected a positive integer, got {value!r}")


def _arrays(answerer, questions):
    """Story, question and answer ids, all of one length."""
    if not questions:
        raise DataError("questions: expected at least one, got none")
    answers = answerer.vocabulary.ids([question.answer for question in questions])
    return *answerer.encode(questions), np.array(answers, "int32")


def _epochs_together(epochs, linear_epochs, questions):
    """How many epochs one call of `fit` runs: it costs as much as some hundred updates of a small model."""
    common = math.gcd(epochs, linear_epochs) if linear_epochs else epochs
    fitting = [n for n in range(1, common + 1) if common % n == 0 and n * questions <= ROWS_AT_A_TIME]
    return max(fitting, default=1)


def _schedule(learning_rate, epochs, linear_epochs, halve_every, steps):
    rate = learning_rate / 2 if linear_epochs else learning_rate
    borders = list(range(linear_epochs + halve_every, linear_epochs + epochs, halve_every))
    if not borders:
        return rate
    return keras.optimizers.schedules.PiecewiseConstantDecay(
        [border * steps - 1 for border in borders], [rate / 2**n for n in range(len(borders) + 1)]
    )


def _start_anew(model, optimizer, seed):
    """Gives a compiled model the weights of a new one, so that nothing is compiled twice."""
    keras.utils.set_random_seed(seed)
    new = type(model).from_config(model.get_config())
    new.build()
    model.set_weights(new.get_weights())
    model.seed_generator.state.assign(new.seed_generator.state)
    optimizer.iterations.assign(0)  # plain SGD remembers nothing else


def _figures(model, arrays, rows, batch_size=500):
    """Mean loss in nats and error in per cent of some questions."""
    losses, wrong = [], 0
    for first in range(0, len(rows), batch_size):
        story, question, answers = (array[rows[first : first + batch_size]] for array in arrays)
        logits = ops.cast(model((story, question), training=False), "float32")
        loss = ops.sparse_categorical_crossentropy(answers, logits, from_logits=True)
        losses.append(ops.convert_to_numpy(loss))
        wrong += int((np.argmax(ops.convert_to_numpy(logits), axis=1) != answers).sum())
    return {"loss": float(np.concatenate(losses).mean()), "error": 100 * wrong / len(rows)}
