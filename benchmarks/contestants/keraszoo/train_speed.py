"""Measures training speed of stock `fit`: making batches, forward, backward and update."""

import common_work
import kit

arguments = common_work.start("train-speed")

import keras  # noqa: E402

variant = arguments.variant or "transformer"
keras.utils.set_random_seed(1)
batches = common_work.make_batches(arguments.prep, variant)
model = common_work.make_model(variant)
common_work.compile_model(model)
version, backend = common_work.versions()


class OfEachShape(keras.utils.PyDataset):
    """One batch of each shape in the windows: XLA compiles the loss once per shape."""

    def __init__(self):
        super().__init__()
        measured = (divmod(step, len(batches)) for step in range(arguments.steps * arguments.repeat))
        self.addresses = list(
            {batches.shape(*address): address for address in [(0, 0), (0, 1), *measured]}.values()
        )
        self.addresses += self.addresses[-1:] * (arguments.warmup - len(self.addresses))

    def __len__(self):
        return len(self.addresses)

    def __getitem__(self, i):
        return batches.batch(*self.addresses[i])


class Windows(keras.callbacks.Callback):
    """Prints a result line for each window of steps, an epoch of `fit`."""

    def on_epoch_begin(self, epoch, logs=None):
        self.clock = kit.Clock().__enter__()

    def on_epoch_end(self, epoch, logs=None):
        self.clock.__exit__()
        first = epoch * arguments.steps
        addresses = (divmod(first + i, len(batches)) for i in range(arguments.steps))
        tokens = sum(batches.real_tokens(*address) for address in addresses)
        kit.emit(
            bench="train-speed",
            contestant="keraszoo",
            variant=variant,
            version=version,
            backend=backend,
            threads=arguments.threads,
            repeat=epoch + 1,
            steps=arguments.steps,
            target_tokens_per_s=round(tokens / self.clock.wall, 1),
            target_tokens_per_cpu_s=round(tokens / self.clock.cpu, 1),
            tokens_per_step=round(tokens / arguments.steps),
            batching="own" if "own" in variant else "kit",
            parameters=sum(int(v.value.shape.num_elements()) for v in model.trainable_variables),
            loss=round(float(logs["loss"]), 3),
            **self.clock.info(),
        )


model.fit(OfEachShape(), shuffle=False, verbose=0)
model.fit(
    batches.for_fit(),
    steps_per_epoch=arguments.steps,
    epochs=arguments.repeat,
    shuffle=False,
    verbose=0,
    callbacks=[Windows()],
)
