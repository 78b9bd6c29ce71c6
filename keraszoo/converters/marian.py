"""Marian models, such as those of OPUS-MT, as they are published on the Hugging Face Hub.

    config.json  model.safetensors  vocab.json  source.spm  target.spm
    [generation_config.json  tokenizer_config.json  target_vocab.json  README.md]

What differs from the Transformer of this package, and where it goes:

* Columns. Positions have their sines in the first half of the columns and their cosines in the second; ours
  alternate. So every weight that reads or writes the vectors between layers is permuted once, along the axis
  that `NAMES` gives. Queries, keys, values and hidden units keep their order.
* Linear maps are stored `(out, in)`, ours are `(in, out)`.
* Post-norm with an epsilon of 1e-5, which is no entry of `config.json`; a feed-forward network with swish or
  ReLU; embeddings times sqrt(d_model), as here.
* `final_logits_bias` is added to the logits; it is our `output_bias`.
* The decoder starts from `<pad>`, so that is also the symbol `<s>`. Its embedding is used as it is. A search
  never writes it; with `renormalize_logits` it has no probability either: its bias becomes `NEVER`.
* Embeddings: one matrix for source, target and output, of which a file may hold copies; or two, one for the
  source, and one for the target and the output.
* Vocabularies: see `piece_ids`. With `separate_vocabs` the target has its own, `target_vocab.json`.
* Positions are computed, so a table of them in the file is left out.
"""

import re
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from keraszoo.converters.files import card_facts, read_bytes, read_json
from keraszoo.converters.piece_ids import with_ids
from keraszoo.errors import PresetError
from keraszoo.models import Transformer
from keraszoo.saving.entries import Entries, Rate, Size, checked
from keraszoo.saving.model_config import weight_shapes
from keraszoo.saving.weights import check_finite, names_of, read_arrays, stored_shapes
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords

WEIGHTS = "model.safetensors"
REQUIRED = ("config.json", "vocab.json", "source.spm", "target.spm", WEIGHTS)
OPTIONAL = ("generation_config.json", "tokenizer_config.json", "target_vocab.json", "README.md")
NEVER = -1e4  # the logit of what has no probability; half precision has it, too
EPSILON = 1e-5

LAYER = r"model\.(encoder|decoder)\.layers\.(\d+)\."
ATTENTION = LAYER + r"(self|encoder)_attn\."
# The pattern of a name, our name, and the axis along d_model of our weight; None: it has none.
NAMES = (
    (r"model\.shared\.weight", "target_embedding/embeddings", 1),
    (r"model\.encoder\.embed_tokens\.weight", "source_embedding/embeddings", 1),
    (r"model\.decoder\.embed_tokens\.weight", "target_embedding/embeddings", 1),
    (r"lm_head\.weight", "target_embedding/embeddings", 1),
    (r"final_logits_bias", "output_bias", None),
    (ATTENTION + r"([qkv])_proj\.weight", r"\1_\2/\3_attention/W_\4/kernel", 0),
    (ATTENTION + r"([qkv])_proj\.bias", r"\1_\2/\3_attention/W_\4/bias", None),
    (ATTENTION + r"out_proj\.weight", r"\1_\2/\3_attention/W_o/kernel", 1),
    (ATTENTION + r"out_proj\.bias", r"\1_\2/\3_attention/W_o/bias", 0),
    (LAYER + r"fc1\.weight", r"\1_\2/feed_forward/W_1/kernel", 0),
    (LAYER + r"fc1\.bias", r"\1_\2/feed_forward/W_1/bias", None),
    (LAYER + r"fc2\.weight", r"\1_\2/feed_forward/W_2/kernel", 1),
    (LAYER + r"fc2\.bias", r"\1_\2/feed_forward/W_2/bias", 0),
    (LAYER + r"(self|encoder)_attn_layer_norm\.weight", r"\1_\2/\3_attention_norm/gamma", 0),
    (LAYER + r"(self|encoder)_attn_layer_norm\.bias", r"\1_\2/\3_attention_norm/beta", 0),
    (LAYER + r"final_layer_norm\.weight", r"\1_\2/feed_forward_norm/gamma", 0),
    (LAYER + r"final_layer_norm\.bias", r"\1_\2/feed_forward_norm/beta", 0),
)
COMPUTED = r"model\.(encoder|decoder)\.embed_positions\.weight"


class Config(Entries, extra="ignore"):
    """The entries of `config.json` that matter, with the values that this package supports."""

    model_type: Literal["marian"]
    d_model: Size
    encoder_layers: Size
    decoder_layers: Size
    encoder_attention_heads: Size
    decoder_attention_heads: Size
    encoder_ffn_dim: Size
    decoder_ffn_dim: Size
    vocab_size: Size
    decoder_vocab_size: Size | None = None
    max_position_embeddings: Annotated[int, Field(ge=2, le=100_000)] = 512
    activation_function: Literal["swish", "silu", "relu"]
    dropout: Rate = 0.1
    attention_dropout: Rate = 0.0
    activation_dropout: Rate = 0.0
    pad_token_id: Size
    eos_token_id: Size
    decoder_start_token_id: Size
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: Literal[True] = True
    scale_embedding: Literal[True]
    static_position_embeddings: Literal[True] = True
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False


class Generation(Entries, extra="ignore"):
    """The settings of search, in `generation_config.json` or, in older models, in `config.json`."""

    num_beams: Annotated[int, Field(ge=1, le=1000)] = 4
    max_length: Annotated[int, Field(ge=1, le=100_000)] = 512
    length_penalty: Annotated[float, Field(ge=0, le=5)] = 1.0
    renormalize_logits: bool = False


class Parts(NamedTuple):
    """The arguments of a translator, and facts for its card."""

    model: Transformer
    source_subwords: Subwords
    target_subwords: Subwords
    search: SearchOptions
    max_source_tokens: int
    facts: dict


def read(folder, source):
    """Reads a published model from the `Path` of its folder as `Parts`; its card names the `source`.

    Raises:
        PresetError: a file is missing or damaged, the weights are pickled, the files do not fit each other,
            or a setting that no converted model can have. Nothing is written.
    """
    where, entries = folder / "config.json", read_json(folder, "config.json")
    config = checked(Config, entries, where)
    _check_sizes(config, where)
    chosen = read_json(folder, "generation_config.json", optional=True)
    generation = checked(Generation, {**_of_search(entries), **_of_search(chosen)}, f"{folder}: search")
    tokenizer = read_json(folder, "tokenizer_config.json", optional=True)
    separate = tokenizer.get("separate_vocabs") is True
    subwords = [
        _subwords(folder, f"{side}.spm", vocabulary, size)
        for side, vocabulary, size in (
            ("source", "vocab.json", config.vocab_size),
            ("target", "target_vocab.json" if separate else "vocab.json", _target_size(config)),
        )
    ]
    if subwords[1].pad_id != config.pad_token_id or subwords[1].end_id != config.eos_token_id:
        raise PresetError(f"{where}: pad_token_id and eos_token_id are not those of the vocabulary")
    model = read_model(folder / WEIGHTS, config, *(side.pad_id for side in subwords))
    if generation.renormalize_logits:
        bias = model.output_bias.numpy()
        bias[config.pad_token_id] = NEVER
        model.output_bias.assign(bias)
    longest = config.max_position_embeddings
    search = SearchOptions(
        beam_width=generation.num_beams,
        max_length=min(generation.max_length, longest),
        length_penalty=generation.length_penalty,
    )
    facts = card_facts(folder, source, tokenizer)
    return Parts(model, *subwords, search, longest - 1, facts)  # `</s>` counts as a position


def _of_search(entries):
    """The entries of `Generation` that are given."""
    return {key: entries[key] for key in Generation.model_fields if entries.get(key) is not None}


def _target_size(config):
    return config.vocab_size if config.decoder_vocab_size is None else config.decoder_vocab_size


def _check_sizes(config, where):
    """Raises PresetError for sizes that our `Transformer` cannot have."""
    for name in ("attention_heads", "ffn_dim"):
        ours, other = (getattr(config, f"{side}_{name}") for side in ("encoder", "decoder"))
        if ours != other:
            raise PresetError(f"{where}: expected one {name} of both stacks, got {ours} and {other}")
    if config.d_model % 2:
        raise PresetError(f"{where}: d_model: expected an even number, got {config.d_model}")
    if config.decoder_start_token_id != config.pad_token_id:
        got = f"{config.decoder_start_token_id} and {config.pad_token_id}"
        raise PresetError(f"{where}: expected a decoder_start_token_id that is pad_token_id, got {got}")


def _subwords(folder, file, vocabulary, size):
    """The `Subwords` of one side."""
    where, ids = folder / vocabulary, read_json(folder, vocabulary)
    if {*map(type, ids.values())} != {int} or {*ids.values()} != {*range(len(ids))}:
        raise PresetError(f"{where}: expected pieces with the ids 0, 1, 2 and so on")
    if len(ids) != size:
        raise PresetError(f"{where}: has {len(ids)} pieces, but config.json has a vocabulary of {size}")
    if missing := {"<pad>", "<unk>", "</s>"} - ids.keys():
        raise PresetError(f"{where}: has no piece {min(missing)}")
    return Subwords(with_ids(read_bytes(folder, file), ids, folder / file))


def read_model(path, config, source_pad_id, target_pad_id):
    """The model with the weights of a file, whose shapes are compared before an array is read."""
    shapes, shared = stored_shapes(path), config.share_encoder_decoder_embeddings
    for name in ("encoder_layers", "decoder_layers"):
        if getattr(config, name) > len(shapes):  # each is a Python object before it has weights
            wrong = f"{name} is {getattr(config, name)}, but the file has {len(shapes)} arrays"
            raise PresetError(f"{path}: {wrong}")

    def make():
        return Transformer(
            config.vocab_size,
            _target_size(config),
            d_model=config.d_model,
            num_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            num_heads=config.encoder_attention_heads,
            intermediate_dim=config.encoder_ffn_dim,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            hidden_dropout=config.activation_dropout,
            tie_embeddings="all" if shared else "target",
            activation="silu" if config.activation_function == "swish" else config.activation_function,
            epsilon=EPSILON,
            output_bias=True,
            source_pad_id=source_pad_id,
            target_pad_id=target_pad_id,
        )

    wanted, places = weight_shapes(make, path.with_name("config.json")), {}
    for name, shape in shapes.items():
        if re.fullmatch(COMPUTED, name):
            continue
        ours, axis = our_name(name, shared)
        if ours not in wanted:
            raise PresetError(f"{path}: has a weight '{name}', which the model lacks")
        if _our_shape(ours, shape) != wanted[ours]:
            expected = _our_shape(ours, wanted[ours])
            raise PresetError(f"{path}: weight '{name}' is {shape}, expected {expected}")
        places[name] = ours, axis
    if missing := wanted.keys() - {ours for ours, _ in places.values()}:
        raise PresetError(f"{path}: has no weight for {min(missing)}")
    model, values = make(), _values(path, places, config.d_model)
    model.build()
    for name, weight in names_of(model).items():
        weight.assign(values[name])
    return model


def our_name(name, shared):
    """Our name of a weight, and the axis of ours along d_model; `(None, None)` of an unknown one."""
    for pattern, ours, axis in NAMES:
        if match := re.fullmatch(pattern, name):
            ours = match.expand(ours).replace("encoder_attention", "cross_attention")
            return ours.replace("source_", "target_") if shared else ours, axis
    return None, None


def _our_shape(name, shape):
    """The shape of a weight of ours, given that of theirs, or the other way around."""
    if name == "output_bias":
        return (1, *shape) if len(shape) == 1 else shape[1:]
    return shape[::-1] if name.endswith("/kernel") else shape


def _values(path, places, width):
    """The values of our weights by name."""
    columns = np.arange(width).reshape(2, -1).T.reshape(-1)  # theirs in our order: 0, D / 2, 1, D / 2 + 1
    arrays, values = read_arrays(path), {}
    for name, (ours, axis) in places.items():
        value = arrays[name].astype("float32")
        check_finite(path, name, value)
        value = value.reshape(-1) if ours == "output_bias" else value.T if ours.endswith("/kernel") else value
        value = value if axis is None else value.take(columns, axis)
        if not np.array_equal(values.setdefault(ours, value), value):
            raise PresetError(f"{path}: '{name}' is another matrix than the embedding that it is tied to")
    return values
