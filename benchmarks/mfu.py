"""Measures the training speed of a Transformer on one accelerator: tokens per second and MFU.

    KERAS_BACKEND=jax python benchmarks/mfu.py --batch-tokens 32768
    KERAS_BACKEND=jax python benchmarks/mfu.py --configuration tiny --batch-tokens 512 --precision float32

Trains by stock `compile` and `fit` on random sentences of one length, so there is no padding. The batches are
made beforehand; the time includes copying them to the device but not compiling. Prints the median window.
Flash attention needs a GPU, 16-bit floats, an even `--length` and a model without attention dropout (`base`
or `big`). The output says whether the training step calls its kernel.

Model FLOPs utilisation (MFU) is the FLOPs of the model per second, divided by the peak of the device. The
FLOPs of a step are those of the matrix products of the forward pass, times 3, because the backward pass has
two products for each. Embedding look-ups and recomputation do not count (Chowdhery et al.: PaLM, 2022,
appendix B, https://arxiv.org/abs/2204.02311).
"""

import argparse
import itertools
import json
import statistics
import sys
import time

import jax
import keras
import numpy as np

from keraszoo.models import Transformer
from keraszoo.training.adam import Adam
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import transformer_schedule

PRECISIONS = ("mixed_bfloat16", "float32")
# Dense peaks in TFLOP/s for 16-bit floats and float32, which JAX multiplies as TF32 from the A100 on,
# from the data sheets at https://www.nvidia.com/en-us/data-center/ (h200, h100, a100, l4, tesla-t4). The
# sheets of H200, H100 and L4 print peaks with sparsity, which are twice as high. A T4's 65 are for float16.
PEAKS = {
    "NVIDIA H200": (989, 494),
    "NVIDIA H100 80GB HBM3": (989, 494),  # SXM
    "NVIDIA A100-SXM4-40GB": (312, 156),
    "NVIDIA A100-SXM4-80GB": (312, 156),
    "NVIDIA L4": (121, 60),
    "Tesla T4": (65, 8.1),
}


def forward_flops(model, sentences, source, target):
    """FLOPs of the matrix products of a forward pass; `source` and `target` are words per sentence."""
    width = model.d_model
    square, feed_forward = 2 * width**2, 4 * width * model.arguments["intermediate_dim"]  # of one word
    encoder = source * (4 * square + feed_forward + 4 * source * width)  # q, k, v, o; scores and context
    self_attention = target * (4 * square + 4 * target * width)
    cross_attention = 2 * (source + target) * square + 4 * target * source * width
    decoder = self_attention + cross_attention + target * feed_forward
    logits = 2 * target * width * model.target_vocabulary_size
    return sentences * (len(model.encoder_layers) * encoder + len(model.decoder_layers) * decoder + logits)


def uses_flash(model, batch):
    """Whether the training step of `fit` calls cuDNN's flash attention."""
    state = model.trainable_variables, model.non_trainable_variables, model.optimizer.variables
    state = tuple([variable.value for variable in part] for part in (*state, model.metrics_variables))
    return "__cudnn$fmha" in jax.jit(model.train_step).lower(state, batch).as_text()


class Windows(keras.callbacks.Callback):
    """Seconds of each window, an epoch of `fit`, until the device has finished."""

    seconds = ()

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        jax.block_until_ready([variable.value for variable in self.model.variables])
        self.seconds += (time.perf_counter() - self.started,)


def main():
    """Parses the command line, trains, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configuration", choices=[*Transformer.configurations], default="base")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--batch-tokens", type=int, default=32768, help="of each side, per step")
    parser.add_argument("--length", type=int, default=64, help="words of each source and target sentence")
    parser.add_argument("--steps", type=int, default=50, help="steps of a window")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=5, help="steps before the first window, at least 1")
    parser.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0])
    parser.add_argument("--flash", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--peak-tflops", type=float, help="the device's dense peak at this precision")
    options = parser.parse_args()
    if keras.backend.backend() != "jax":
        sys.exit("mfu.py needs KERAS_BACKEND=jax")
    (keras.config.enable_flash_attention if options.flash else keras.config.disable_flash_attention)()
    keras.utils.set_random_seed(1)
    shape = max(1, options.batch_tokens // options.length), options.length
    draw, weights = np.random.default_rng(1).integers, np.full(shape, 1 / np.prod(shape), "float32")
    words = [draw(4, options.vocabulary, (3, *shape), "int32") for _ in range(8)]
    batches = [((source, target_in), target_out, weights) for source, target_in, target_out in words]
    model = Transformer.from_configuration(
        options.configuration, source_vocabulary_size=options.vocabulary, dtype=options.precision
    )
    model.compile(Adam(transformer_schedule(model.d_model), 0.9, 0.98, 1e-9), TokenCrossentropy(0.1))
    repeated, windows = (batch for batch in itertools.cycle(batches)), Windows()
    quiet = {"shuffle": False, "verbose": 0}
    model.fit(repeated, steps_per_epoch=options.warm_up, **quiet)
    measured = {"epochs": options.windows, "steps_per_epoch": options.steps, "callbacks": [windows]}
    history = model.fit(repeated, **measured, **quiet).history
    seconds = statistics.median(windows.seconds) / options.steps
    tflops = 3 * forward_flops(model, shape[0], shape[1], shape[1]) / seconds / 1e12
    device = jax.devices()[0].device_kind
    known = PEAKS.get(device, (None, None))[PRECISIONS.index(options.precision)]
    figures = {
        **vars(options),
        "peak_tflops": options.peak_tflops or known,
        "flash_used": uses_flash(model, batches[0]),
        "device": device,
        "backend": f"keras {keras.__version__}, jax {jax.__version__}",
        "parameters": model.count_params(),
        "loss": round(history["loss"][-1], 3),
        "window_s": [round(window, 3) for window in windows.seconds],
        "tokens_per_s": round(2 * np.prod(shape) / seconds),  # source and target
        "tflops": round(tflops, 4),
    }
    figures["mfu"] = round(tflops / peak, 4) if (peak := figures["peak_tflops"]) else None
    used = f"{'flash' if figures['flash_used'] else 'no flash'} attention, {options.precision}, {device}"
    speed = f"{figures['tokens_per_s']:,} source and target tokens/s, {tflops:.3g} TFLOP/s"
    share = f", MFU {tflops / peak:.1%} of {peak:g} TFLOP/s" if peak else ""
    print(f"Transformer {options.configuration}, {used}: {speed}{share}")
    print(json.dumps({"bench": "mfu", **figures}))


if __name__ == "__main__":
    main()
