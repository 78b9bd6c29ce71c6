"""A Transformer as a CTranslate2 model: text in, text out, with only ctranslate2 and sentencepiece.

The directory holds the model (`model.bin`, `config.json`, vocabularies), the sentencepiece models and
`keraszoo.json` with their names, `"subwords"`, and the arguments of `ctranslate2.Translator.translate_batch`
that search as the translator does, `"translate_batch"`. docs/export.md shows a program that uses it.
"""

import keras
import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError, import_extra
from keraszoo.models import Transformer
from keraszoo.tasks.export import replace_export, write_mark
from keraszoo.translation import directory as translator_directory
from keraszoo.translation.ctranslate2_translator import (
    CTranslate2Translator,
    check_options,
    search_arguments,
)

QUANTIZATIONS = ("float32", "float16", "int16", "int8", "int8_float32", "int8_float16")
POSITIONS = 1024  # rows of the table of positions, at least: CTranslate2 translates nothing longer
TOLERANCE = 0.01  # of the scores of beam search


def export(translator, directory, quantize="float32"):
    """Writes the directory described above; see `Task.export`.

    `quantize`, one of `QUANTIZATIONS`, says how CTranslate2 stores the weights. Those of a model that is
    quantized in Keras are unpacked first.
    """
    import_extra("ctranslate2", "ctranslate2")
    from ctranslate2.converters import Converter

    model = translator.model
    if not isinstance(model, Transformer):
        kind = type(model).__name__
        raise KerasZooError(f"CTranslate2 runs Transformers only: {kind} cannot be exported to it")
    if quantize not in QUANTIZATIONS:
        raise KerasZooError(f"quantize: expected one of {', '.join(QUANTIZATIONS)}, got {quantize!r}")
    check_options(translator.search)

    class TranslatorConverter(Converter):
        def _load(self):
            return specification(translator)

    config, files, *_ = translator_directory.contents(translator, portable=True)
    arguments = search_arguments(translator.search, translator.target_subwords)
    arguments["max_input_length"] = translator.max_source_tokens + 1  # counts `</s>`
    about = {"task": "translation", **config, "quantize": quantize, "translate_batch": arguments}
    with replace_export(directory) as place:
        TranslatorConverter().convert(str(place), quantization=quantize, force=True)
        for name, content in files.items():
            (place / name).write_bytes(content)
        write_mark(place, about)


def verify(translator, directory, texts):
    """Translates with CTranslate2 and compares.

    Greedy search of a float32 export must give the same tokens, and every beam search a score that differs by
    at most `TOLERANCE`, without `min_length` and `no_repeat_ngram`, which change its probabilities. An export
    with other weights, or of a model that is quantized in Keras, is not held to the first.

    Returns:
        The number of texts with the same greedy translation.

    Raises:
        KerasZooError: for the first difference.
    """
    exported = CTranslate2Translator(directory)
    quantized = any(layer.quantization_mode for layer in translator.model._flatten_layers())
    exact = exported.quantize == "float32" and not quantized
    different = set()
    for width in dict.fromkeys((1, translator.search.beam_width)):
        options = translator.search.replace(beam_width=width, num_hypotheses=1)
        if width > 1:
            options = options.replace(min_length=0, no_repeat_ngram=0)
        ours, theirs = (best_of(one, texts, options) for one in (translator, exported))
        for i, (tokens, score) in ours.items():
            wrong = tokens != theirs[i][0] if width == 1 else abs(score - theirs[i][1]) > TOLERANCE
            if wrong and exact:
                text, other = translator.target_subwords.decode([tokens, theirs[i][0]])
                raise KerasZooError(
                    f"{directory}: text {i + 1} is translated to {other!r} (score {theirs[i][1]:.4f}) by "
                    f"CTranslate2, to {text!r} ({score:.4f}) here, with a beam of {width}"
                )
            if wrong and width == 1:
                different.add(i)
    return len(texts) - len(different)


def best_of(translator, texts, options):
    """The tokens and the score of the best translation, by the index of the text; none if it is blank."""
    return {
        i: (best.tokens[k, 0, : best.lengths[k, 0]].tolist(), float(best.score[k, 0]))
        for indices, best, *_ in translator._searched(texts, 64, options)
        for k, i in enumerate(indices)
    }


def specification(translator):
    """The weights and the architecture of a translator's `Transformer`, as a `TransformerSpec`."""
    from ctranslate2.specs import TransformerSpec, transformer_spec
    from ctranslate2.specs.common_spec import Activation

    model, positions = translator.model, translator.model.position_kind
    layer = model.encoder_layers[0]
    kinds = {"relu": Activation.RELU, "silu": Activation.SWISH, "gelu": Activation.GELU}
    activation = keras.activations.serialize(layer.feed_forward.activation)
    if model.num_experts is not None:
        raise KerasZooError("CTranslate2 has no mixture of experts")
    if activation not in kinds:
        raise KerasZooError(f"CTranslate2 has no activation {activation}")
    shared = {
        "num_heads": model.num_heads,
        "pre_norm": layer.pre_norm,
        "activation": kinds[activation],
        "relative_position": positions == "relative",
        **({"rotary_dim": 0, "rotary_interleave": False} if positions == "rotary" else {}),
    }
    encoder = transformer_spec.TransformerEncoderSpec(num_layers=len(model.encoder_layers), **shared)
    decoder = transformer_spec.TransformerDecoderSpec(num_layers=len(model.decoder_layers), **shared)
    encoder.embeddings[0].weight = table(model.source_embedding)
    decoder.embeddings.weight = decoder.projection.weight = table(model.target_embedding)
    if model.output_bias is not None:
        decoder.projection.bias = array(model.output_bias)
    rows = max(translator.max_source_tokens + 1, translator.search.max_length, POSITIONS)
    for name, stack in (("encoder", encoder), ("decoder", decoder)):
        if positions in ("sinusoidal", "learned"):  # they are added to the words
            encodings = model.positions.encoding(ops.arange(rows, dtype="int32"), model.d_model)
            stack.position_encodings.encodings = array(encodings)
        if layer.pre_norm:
            set_norm(stack, getattr(model, f"{name}_norm"))
        for spec, weights in zip(stack.layer, getattr(model, f"{name}_layers"), strict=True):
            set_layer(spec, weights)
    spec = TransformerSpec(encoder, decoder)
    spec.config.layer_norm_epsilon = layer.epsilon
    spec.config.add_source_eos = True
    source, target = translator.source_subwords, translator.target_subwords
    names = target.pieces([target.unknown_id, target.start_id, target.end_id])
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = names
    spec.config.decoder_start_token = spec.config.bos_token
    of_source = source.pieces(range(len(source)))
    of_source[source.unknown_id] = spec.config.unk_token  # the only symbol that could have another name
    spec.register_source_vocabulary(of_source)
    spec.register_target_vocabulary(target.pieces(range(len(target))))
    return spec


def set_layer(spec, layer):
    """Sets the weights of a `TransformerEncoderLayer` or `TransformerDecoderLayer`."""
    attention = layer.self_attention
    set_linears(spec.self_attention.linear, attention, ["qkv", "o"])
    if attention.relative:
        spec.self_attention.relative_position_keys = array(attention.A_k)
        spec.self_attention.relative_position_values = array(attention.A_v)
    if hasattr(layer, "cross_attention"):
        set_linears(spec.attention.linear, layer.cross_attention, ["q", "kv", "o"])
        set_norm(spec.attention, layer.cross_attention_norm)
    set_linears([spec.ffn.linear_0, spec.ffn.linear_1], layer.feed_forward, ["1", "2"])
    set_norm(spec.self_attention, layer.self_attention_norm)
    set_norm(spec.ffn, layer.feed_forward_norm)


def set_linears(specs, layer, groups):
    """Sets linear maps to the kernels and biases of `W_n` of a layer, side by side for the n of a group."""
    for spec, names in zip(specs, groups, strict=True):
        maps = [getattr(layer, f"W_{name}") for name in names]
        spec.weight = np.concatenate([kernel(one) for one in maps], axis=1).T
        if maps[0].use_bias:
            spec.bias = np.concatenate([array(one.bias) for one in maps])


def set_norm(spec, norm):
    """Sets the layer normalisation of a sublayer or a stack."""
    spec.layer_norm.gamma, spec.layer_norm.beta = array(norm.gamma), array(norm.beta)


def table(embedding):
    """The vectors of an embedding, those of a quantized one unpacked."""
    if embedding.quantization_mode:
        return array(embedding(ops.arange(embedding.input_dim, dtype="int32")))
    return array(embedding.embeddings)


def kernel(dense):
    """The kernel of a `Dense`, that of a quantized one unpacked: what it makes of the unit vectors."""
    if dense.quantization_mode:
        units = np.eye(dense.input_spec.axes[-1], dtype="float32")
        return array(dense(units)) - array(dense(np.zeros_like(units[:1])))
    return array(dense.kernel)


def array(tensor):
    """A tensor as a float32 array."""
    return ops.convert_to_numpy(tensor).astype("float32")
