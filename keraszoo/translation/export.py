"""A translator as a SavedModel: strings in, strings out, with nothing but TensorFlow and its text operations.

The directory holds two SavedModels. The one at its root wants `import tensorflow_text` before it is loaded:

    signature                    takes                gives
    translate (the default)      text (B,)            translation (B,), log_prob (B,)
    n_best                       text (B,)            translations (B, K), log_prob (B, K), score (B, K)
    attention                    text (B,)            translation (B,), log_prob (B,), tokens (B, T),
                                                      source_tokens (B, S), attention_weights (B, T, S)

A model that attends to nothing has no signature `attention`. The one in `ids/` is for servers without text
operations:

    translate (the default)      source_ids (B, S)    tokens (B, L), lengths (B,), log_prob (B,)

Texts and tokens are strings, ids and lengths int32, the rest float32. B may be 0. K is the beam width. A
blank text gives an empty translation of log-probability 0. Each row of `source_ids` ends with `</s>` and is
padded. Log-probabilities are natural logarithms, `</s>` included.
"""

import hashlib
from functools import partial

import keras

from keraszoo.errors import KerasZooError
from keraszoo.tasks.export import ask, module_of, write_modules
from keraszoo.translation.compiled_search import tensorflow_search


def export_translator(translator, directory, jit_compile="single"):
    """Writes the SavedModel; see the table above.

    Raises:
        KerasZooError: another backend than TensorFlow, something else in the directory's place, or a disk
            that refuses.
    """
    if keras.backend.backend() != "tensorflow":
        raise KerasZooError(f"a SavedModel is written by TensorFlow; this is {keras.backend.backend()}")
    search = partial(_search, translator, jit_compile=jit_compile)
    best = search(translator.search.replace(num_hypotheses=translator.search.beam_width))
    parts = {
        "": partial(_texts_module, translator, best, search),
        "ids": partial(_ids_module, translator, best),
    }
    write_modules(directory, parts, {"task": "translation"})


def _search(translator, options, attention=False, jit_compile="single"):
    special, source = translator.compiled_search.special, translator.compiled_search.source_special
    return tensorflow_search(
        translator.model, options, special, source.pad_id, attention, jit_compile=jit_compile
    )


def _ids_module(translator, best):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="source_ids")], autograph=False)
    def translate(source_ids):
        tokens, lengths, log_prob, _ = best(source_ids)
        return {"tokens": tokens[:, 0], "lengths": lengths[:, 0], "log_prob": log_prob[:, 0]}

    return module_of(translator.model), _signatures(translate=translate)


def _signatures(**functions):
    signatures = {name: function.get_concrete_function() for name, function in functions.items()}
    return {**signatures, "serving_default": signatures["translate"]}


def _texts_module(translator, best, search):
    import tensorflow as tf

    special, source_special = translator.compiled_search.special, translator.compiled_search.source_special
    limit, attends = translator.max_source_tokens, translator.model.attends
    looking = search(translator.search, attention=True) if attends else None
    module = module_of(translator.model)
    module.source_text = _tokenizer(translator.source_subwords)
    module.target_text = _tokenizer(translator.target_subwords)
    texts = [tf.TensorSpec([None], tf.string, name="text")]

    def encode(text):
        """Ids `(B, S)` ended by `</s>`, and which texts have no token."""
        ids = module.source_text.tokenize(text)[:, :limit]
        blank = ids.row_lengths() == 0
        end = tf.fill([tf.shape(text)[0], 1], source_special.end_id)
        ids = tf.concat([ids, end], axis=1).to_tensor(source_special.pad_id)
        return ids, blank

    def decode(tokens, lengths):
        """`(N, T)` ids to `(N,)` texts, without `</s>`."""
        rows = tf.RaggedTensor.from_tensor(tokens, lengths=tf.cast(lengths, tf.int64))
        return module.target_text.detokenize(tf.ragged.boolean_mask(rows, rows != special.end_id))

    @tf.function(input_signature=texts, autograph=False)
    def n_best(text):
        ids, blank = encode(text)
        tokens, lengths, log_prob, score = best(ids)
        shape = tf.shape(lengths)
        flat = decode(tf.reshape(tokens, [-1, tf.shape(tokens)[2]]), tf.reshape(lengths, [-1]))
        blank = blank[:, None]
        return {
            "translations": tf.where(blank, "", tf.reshape(flat, shape)),
            "log_prob": tf.where(blank, 0.0, log_prob),
            "score": tf.where(blank, 0.0, score),
        }

    @tf.function(input_signature=texts, autograph=False)
    def translate(text):
        found = n_best(text)
        return {"translation": found["translations"][:, 0], "log_prob": found["log_prob"][:, 0]}

    @tf.function(input_signature=texts, autograph=False)
    def attention(text):
        ids, blank = encode(text)
        tokens, lengths, log_prob, _, weights = looking(ids)
        tokens, lengths = tokens[:, 0], lengths[:, 0]
        longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
        return {
            "translation": tf.where(blank, "", decode(tokens, lengths)),
            "log_prob": tf.where(blank, 0.0, log_prob[:, 0]),
            "tokens": module.target_text.id_to_string(tokens[:, :longest]),
            "source_tokens": module.source_text.id_to_string(ids),
            "attention_weights": weights[:, 0, :longest],
        }

    signatures = {"translate": translate, "n_best": n_best, **({"attention": attention} if attends else {})}
    return module, _signatures(**signatures)


def _tokenizer(subwords):
    """The vocabulary as a resource of the graph, named by its content.

    In a loaded SavedModel, tokenizers of one name are one resource: without names, the text of the target
    would be made of the source's subwords.
    """
    import tensorflow_text as tf_text

    content = hashlib.sha256(subwords.model_bytes).hexdigest()
    return tf_text.SentencepieceTokenizer(subwords.model_bytes, name=f"subwords_{content[:16]}")


PROGRAM = """
import json, sys
import tensorflow as tf
import tensorflow_text
assert "keraszoo" not in sys.modules
translate = tf.saved_model.load(sys.argv[1]).signatures["translate"]
texts, size, found = json.load(sys.stdin), 64, []
for i in range(0, len(texts), size):
    found += [text.decode() for text in translate(text=tf.constant(texts[i:i + size]))["translation"].numpy()]
json.dump(found, sys.stdout)
"""


def verify_export(translator, directory, texts):
    """Translates with the SavedModel in a process of its own and compares; see `Translator.verify_export`."""
    texts = list(texts)
    wanted = translator.translate(texts)
    found = ask(directory, PROGRAM, texts)
    for number, (text, ours, theirs) in enumerate(zip(texts, wanted, found, strict=True), start=1):
        if ours != theirs:
            raise KerasZooError(
                f"{directory}: text {number} ({text!r}) is translated to {theirs!r} by the SavedModel, "
                f"to {ours!r} here"
            )
    return len(found)
