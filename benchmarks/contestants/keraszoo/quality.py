"""Measures quality against time: stock `fit` for some minutes, then BLEU of every checkpoint."""

import time

import common_work
import kit

arguments = common_work.start("quality")

import keras  # noqa: E402

from keraszoo import Translator  # noqa: E402
from keraszoo.evaluation.translation import score_translations  # noqa: E402
from keraszoo.search import SearchOptions  # noqa: E402
from keraszoo.text.subwords import Subwords  # noqa: E402

variant = arguments.variant or "transformer"
keras.utils.set_random_seed(1)
batches = common_work.make_batches(arguments.prep, "own-batches")
model = common_work.make_model(variant)
common_work.compile_model(model)
version, backend = common_work.versions()
subwords = Subwords.load(arguments.prep / "spm.model")
options = SearchOptions(beam_width=5, max_length=100, length_penalty=1.0)
translator = Translator(model, subwords, search=options)


class Checkpoints(keras.callbacks.Callback):
    """Keeps the weights every few minutes and stops when the time is up."""

    def on_train_begin(self, logs=None):
        self.kept, self.steps, self.tokens = [], 0, 0
        self.clock = kit.Clock().__enter__()
        self.started = self.saved = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.tokens += batches.real_tokens(*divmod(self.steps, len(batches)))
        self.steps += 1
        now = time.perf_counter()
        over = now - self.started >= arguments.minutes * 60
        if over or now - self.saved >= arguments.save_every * 60:
            self.saved = now
            facts = {
                "train_wall_min": round((now - self.started) / 60, 3),
                "train_cpu_min": round((kit.cpu_seconds() - self.clock.c0) / 60, 3),
                "train_target_tokens": self.tokens,
                "train_steps": self.steps,
                "epoch": self.steps // len(batches),
                "last": over,
            }
            self.kept.append((facts, model.get_weights()))
        if over:
            self.model.stop_training = True


checkpoints = Checkpoints()
model.fit(
    batches.for_fit(),
    steps_per_epoch=len(batches),
    epochs=1_000_000,
    shuffle=False,
    verbose=0,
    callbacks=[checkpoints],
)
sources, references = (kit.read_lines(arguments.prep / f"test.{side}") for side in ("en", "de"))
for facts, weights in checkpoints.kept:
    model.set_weights(weights)
    for beam in (1, 5):
        scores = score_translations(translator.translate(sources, beam_width=beam), references)
        kit.emit(
            bench="quality",
            contestant="keraszoo",
            variant=variant,
            version=version,
            backend=backend,
            decoder="keraszoo",
            beam=beam,
            bleu=round(scores.bleu.score, 2),
            chrf=round(scores.chrf.score, 2),
            bleu_text=scores.bleu.details,
            signature=scores.bleu.signature,
            threads=arguments.threads,
            **facts,
        )
