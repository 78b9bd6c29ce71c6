"""The models, data and training of the kit's contract (CONTRACT.md), in keraszoo."""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.environ.get("PEERS_LIB", ""))

import kit  # noqa: E402 - the kit's own, imported through PEERS_LIB

PAD, START, END, VOCABULARY = 1, 2, 3, 8000
LAYERS, WIDTH, HIDDEN, HEADS = 3, 256, 1024, 4


def start(kind, threads_per_operation=None):
    """Parses the contract's arguments and sets TensorFlow's number of threads."""
    arguments = kit.arguments(kind)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads_per_operation or arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    return arguments


def versions():
    """Returns the versions of keraszoo and of its backend."""
    import keras
    import tensorflow as tf

    import keraszoo

    return keraszoo.__version__, f"keras {keras.__version__}, tensorflow {tf.__version__}"


def make_model(variant):
    """Makes the Transformer of 7.58 M parameters, or the contract's RNN with Bahdanau attention."""
    from keraszoo.models import RNNSearch, Transformer

    sizes = {
        "source_pad_id": PAD,
        "dropout": 0.1,
        "dtype": "mixed_bfloat16" if "bfloat16" in variant else "float32",
    }
    if variant.startswith("rnn"):
        return RNNSearch(
            VOCABULARY,
            embedding_dim=256,
            units=256,
            decoder_units=512,
            attention_units=512,
            readout_dim=256,
            cell="lstm",
            share_embeddings=True,
            **sizes,
        )
    return Transformer(
        VOCABULARY,
        d_model=WIDTH,
        num_layers=LAYERS,
        num_heads=HEADS,
        intermediate_dim=HIDDEN,
        pre_norm=True,
        **sizes,
    )


def make_batches(prep, variant):
    """Makes the kit's batches, or our own with the same budget."""
    from keraszoo.text.corpus import ParallelCorpus
    from keraszoo.training.token_batches import TokenBatches

    ids = [kit.read_ids(prep / f"train.{side}.ids") for side in ("en", "de")]
    corpus = ParallelCorpus.from_ids(*ids, pad_id=PAD, start_id=START, end_id=END)
    if "own" in variant:
        return TokenBatches(corpus, 4096, seed=1, shapes=None)
    return given_batches(corpus, kit.read_batches(prep))


def given_batches(corpus, batches):
    """Returns `TokenBatches` whose batches are given lists of pair numbers; only their order changes."""
    from types import SimpleNamespace

    import numpy as np

    from keraszoo.training.batch_plans import EpochPlan
    from keraszoo.training.token_batches import TokenBatches

    order = np.concatenate(batches).astype("int32")
    bounds = np.cumsum([0, *map(len, batches)])
    lengths = corpus.sources.lengths + 1, corpus.targets.lengths + 1
    sides = [np.maximum.reduceat(side[order], bounds[:-1]) for side in lengths]
    plan = EpochPlan(order, bounds[:-1], bounds[1:], np.stack(sides, axis=1).astype("int64"))

    own = TokenBatches(corpus, tokens=1 << 20, seed=1, shapes=None)
    own._grouping = SimpleNamespace(plan=plan.shuffled)
    return own


def compile_model(model, warmup=400, factor=0.4):
    """Compiles with label smoothing 0.1, Adam and a peak learning rate of 1.25e-3; RNNs clip at 5."""
    from keraszoo.training.adam import Adam
    from keraszoo.training.losses import TokenCrossentropy
    from keraszoo.training.optimizers import transformer_schedule

    rnn = type(model).__name__ == "RNNSearch"
    schedule = transformer_schedule(WIDTH, warmup, factor)
    optimizer = Adam(schedule, 0.9, 0.98, 1e-9, global_clipnorm=5.0 if rnn else None)
    model.compile(optimizer=optimizer, loss=TokenCrossentropy(0.1), jit_compile=False)


def take_weights(model, path):
    """Loads the shared weights, which have Joey NMT's names, into the Transformer."""
    import numpy as np

    weights = dict(np.load(Path(path)))

    def dense(layer, name):
        layer.kernel.assign(weights[f"{name}.weight"].T)
        layer.bias.assign(weights[f"{name}.bias"])

    def norm(layer, name):
        layer.gamma.assign(weights[f"{name}.weight"])
        layer.beta.assign(weights[f"{name}.bias"])

    def attention(layer, name):
        for ours, theirs in {"q": "q_layer", "k": "k_layer", "v": "v_layer", "o": "output_layer"}.items():
            dense(getattr(layer, f"W_{ours}"), f"{name}.{theirs}")

    def block(layer, name, sublayers):
        for ours, theirs, theirs_norm in sublayers:
            attention(getattr(layer, ours), f"{name}.{theirs}")
            norm(getattr(layer, f"{ours}_norm"), f"{name}.{theirs_norm}")
        dense(layer.feed_forward.W_1, f"{name}.feed_forward.pwff_layer.0")
        dense(layer.feed_forward.W_2, f"{name}.feed_forward.pwff_layer.3")
        norm(layer.feed_forward_norm, f"{name}.feed_forward.layer_norm")

    model.build()
    model.target_embedding.embeddings.assign(weights["src_embed.lut.weight"])
    for i, layer in enumerate(model.encoder_layers):
        block(layer, f"encoder.layers.{i}", [("self_attention", "src_src_att", "layer_norm")])
    sublayers = [
        ("self_attention", "trg_trg_att", "x_layer_norm"),
        ("cross_attention", "src_trg_att", "dec_layer_norm"),
    ]
    for i, layer in enumerate(model.decoder_layers):
        block(layer, f"decoder.layers.{i}", sublayers)
    norm(model.encoder_norm, "encoder.layer_norm")
    norm(model.decoder_norm, "decoder.layer_norm")
