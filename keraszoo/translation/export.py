"""A translator as a SavedModel: strings in, strings out, with only TensorFlow and tensorflow_text.

docs/export.md lists the signatures. The directory holds two SavedModels: the one at its root needs `import
tensorflow_text` before it is loaded, the one in `ids/` is for servers without text operations. TensorFlow
Serving sends the requests in `assets.extra/tf_serving_warmup_requests` to the signature `translate` before
it serves.
"""

import hashlib
from functools import partial

import keras

from keraszoo.errors import KerasZooError
from keraszoo.tasks.export import ask, module_of, write_modules
from keraszoo.translation.warm_up import warm_up_texts, write_requests


def export(translator, directory, jit_compile=False):
    """Writes the two SavedModels; see `Task.export`.

    `jit_compile` says whether XLA compiles programs for single sentences, see `CompiledSearch.graph`.
    """
    if keras.backend.backend() != "tensorflow":
        raise KerasZooError(f"a SavedModel needs TensorFlow, the backend is {keras.backend.backend()}")
    search = partial(translator.compiled_search.graph, jit_compile=jit_compile)
    best = search(translator.search.replace(num_hypotheses=translator.search.beam_width))
    attending = search(translator.search, attention=True) if translator.model.attends else None
    parts = {
        "": partial(_texts_module, translator, best, attending),
        "ids": partial(_ids_module, translator, best),
    }

    def add_warm_up(place):
        texts = [[text] for text in warm_up_texts(translator)[: None if jit_compile else 1]]
        ids = [translator.compiled_search.pad(translator.source_subwords.encode(text)) for text in texts]
        write_requests(place, [{"text": text} for text in texts])
        write_requests(place / "ids", [{"source_ids": some} for some in ids])

    write_modules(directory, parts, {"task": "translation"}, add_warm_up)


def _ids_module(translator, best):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="source_ids")], autograph=False)
    def translate(source_ids):
        tokens, lengths, log_prob, _ = best(source_ids)
        return {"tokens": tokens[:, 0], "lengths": lengths[:, 0], "log_prob": log_prob[:, 0]}

    return module_of(translator.model), _signatures([translate])


def _signatures(functions):
    signatures = {f.python_function.__name__: f.get_concrete_function() for f in functions}
    return {**signatures, "serving_default": signatures["translate"]}


def _texts_module(translator, best, attending):
    import tensorflow as tf

    special, source_special = translator.compiled_search.special, translator.compiled_search.source_special
    limit, module = translator.max_source_tokens, module_of(translator.model)
    module.source_text = _tokenizer(translator.source_subwords)
    same = translator.target_subwords == translator.source_subwords  # the target's text is only decoded
    module.target_text = module.source_text if same else _tokenizer(translator.target_subwords)
    of_texts = partial(
        tf.function, input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False
    )

    def encode(text):
        """Ids `(B, S)` ended by `</s>`, and which texts have no token."""
        ids = module.source_text.tokenize(text)[:, :limit]
        known = ids.flat_values < translator.source_subwords.vocabulary_size
        unknown = translator.source_subwords.unknown_id
        ids = ids.with_flat_values(tf.where(known, ids.flat_values, unknown))
        blank = ids.row_lengths() == 0
        end = tf.fill([tf.shape(text)[0], 1], source_special.end_id)
        ids = tf.concat([ids, end], axis=1).to_tensor(source_special.pad_id)
        return ids, blank

    def decode(tokens, lengths):
        """`(N, T)` ids to `(N,)` texts, without `</s>`."""
        rows = tf.RaggedTensor.from_tensor(tokens, lengths=tf.cast(lengths, tf.int64))
        texts = module.target_text.detokenize(tf.ragged.boolean_mask(rows, rows != special.end_id))
        return tf.strings.regex_replace(texts, "^ +| +$", "")

    @of_texts
    def n_best(text):
        ids, blank = encode(text)
        tokens, lengths, log_prob, score = best(ids)
        flat = decode(tf.reshape(tokens, [-1, tf.shape(tokens)[2]]), tf.reshape(lengths, [-1]))
        blank = blank[:, None]
        return {
            "translations": tf.where(blank, "", tf.reshape(flat, tf.shape(lengths))),
            "log_prob": tf.where(blank, 0.0, log_prob),
            "score": tf.where(blank, 0.0, score),
        }

    @of_texts
    def translate(text):
        several = n_best(text)
        return {"translation": several["translations"][:, 0], "log_prob": several["log_prob"][:, 0]}

    @of_texts
    def attention(text):
        ids, blank = encode(text)
        tokens, lengths, log_prob, _, weights = attending(ids)
        tokens, lengths = tokens[:, 0], lengths[:, 0]
        longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
        return {
            "translation": tf.where(blank, "", decode(tokens, lengths)),
            "log_prob": tf.where(blank, 0.0, log_prob[:, 0]),
            "tokens": module.target_text.id_to_string(tokens[:, :longest]),
            "source_tokens": module.source_text.id_to_string(ids),
            "attention_weights": weights[:, 0, :longest],
        }

    return module, _signatures([translate, n_best, *([attention] if attending else [])])


def _tokenizer(subwords):
    """The vocabulary, with its rules of reading, as a resource of the graph, named by a hash of its content.

    In a loaded SavedModel, tokenizers with the same name are one resource: without names, the target text
    would be decoded with the source's subwords.
    """
    import tensorflow_text as tf_text

    content = hashlib.sha256(subwords.portable_bytes).hexdigest()
    return tf_text.SentencepieceTokenizer(subwords.portable_bytes, name=f"subwords_{content[:16]}")


def verify(translator, directory, texts):
    """Translates with the SavedModel in a separate process and compares; see `Task.verify_export`."""
    pairs = zip(texts, translator.translate(texts), ask(directory, "translate", texts), strict=True)
    for number, (text, ours, answer) in enumerate(pairs, start=1):
        if ours != answer["translation"]:
            raise KerasZooError(
                f"{directory}: text {number} ({text!r}) is translated to {answer['translation']!r} by the "
                f"SavedModel, to {ours!r} here"
            )
    return len(texts)
