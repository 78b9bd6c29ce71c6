"""Training speed of stock `fit`: batch making, forward, backward and update."""

import common_work
import kit

arguments = common_work.start("train-speed")

import keras  # noqa: E402

from keraszoo.training.periods import Periods  # noqa: E402

variant = arguments.variant or "transformer"
keras.utils.set_random_seed(1)
batches = common_work.make_batches(arguments.prep, variant)
warmup = max(arguments.warmup, arguments.steps)  # a whole window: XLA compiles the loss once a shape
periods = Periods(batches, arguments.steps)
model = common_work.make_model(variant)
common_work.compile_model(model)
version, backend = common_work.versions()


class Windows(keras.callbacks.Callback):
    """Prints a result line for each window of steps, an epoch of `fit`."""

    def on_epoch_begin(self, epoch, logs=None):
        self.clock = kit.Clock().__enter__()

    def on_epoch_end(self, epoch, logs=None):
        self.clock.__exit__()
        if (epoch + 1) * arguments.steps <= warmup:
            return
        tokens = sum(batches.real_tokens(*periods.address(i)) for i in range(arguments.steps))
        kit.emit(
            bench="train-speed",
            contestant="keraszoo",
            variant=variant,
            version=version,
            backend=backend,
            threads=arguments.threads,
            repeat=epoch + 1 - -(-warmup // arguments.steps),
            steps=arguments.steps,
            target_tokens_per_s=round(tokens / self.clock.wall, 1),
            target_tokens_per_cpu_s=round(tokens / self.clock.cpu, 1),
            tokens_per_step=round(tokens / arguments.steps),
            batching="own" if "own" in variant else "kit",
            parameters=sum(int(v.value.shape.num_elements()) for v in model.trainable_variables),
            loss=round(float(logs["loss"]), 3),
            **self.clock.info(),
        )


model.fit(
    periods,
    epochs=-(-warmup // arguments.steps) + arguments.repeat,
    shuffle=False,
    verbose=0,
    callbacks=[periods.at_period(), Windows()],
)
