"""A tagger as a SavedModel: strings in, entities out, with only TensorFlow and tensorflow_text.

docs/export.md lists the signatures. The directory holds two SavedModels: the one at its root needs `import
tensorflow_text` before it is loaded, the one in `ids/` is for servers without text operations. At the root,
the functions `entities` and `tag` of the loaded object return ragged tensors `(B, ...)`. Signatures cannot,
so theirs have the flat values, and `count` with the number in each row.
"""

from functools import partial

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.tagging.compiled_tagger import feature_specs, tag_features
from keraszoo.tagging.graph_ops import GraphFeatures, GraphTags, entities, in_batches, iob2, tokenize
from keraszoo.tasks.export import ask, module_of, write_modules


def export(tagger, directory):
    """Writes the two SavedModels; see `Task.export`."""
    parts = {"": partial(_texts_module, tagger), "ids": partial(_ids_module, tagger)}
    write_modules(directory, parts, {"task": "tagging", "tags": list(tagger.vocabulary.tags)})


def _texts_module(tagger):
    import tensorflow as tf

    module, names = module_of(tagger.model), tagger.model.features
    module.features = GraphFeatures(tagger.vocabulary)
    module.tables = module.features.tables
    tags_of = GraphTags(tagger.vocabulary.tags)
    texts = [tf.TensorSpec([None], tf.string, name="text")]

    @tf.function(input_signature=texts, autograph=False)  # one copy of the model in the graph, used twice
    def read_words(text):
        """The outputs for each word, its label, whether an entity begins there, and the words by text."""
        tokens = tokenize(text, tagger.vocabulary.token_rules)
        words = tokens.text.values  # (N, T), N sentences of all texts
        ids, probability, *attention = in_batches(
            lambda rows: _tag_words(tagger.model, module.features.encode(rows, names), rows),
            words,
            module.features.lengths(words),
            [tf.int32, tf.float32] + [tf.float32] * tagger.model.attends,
        )
        first = tf.scatter_nd(
            words.row_starts()[:, None], tf.ones_like(words.row_starts(), tf.bool), [tf.size(ids)]
        )
        labels, begins = tags_of.read(ids, first)
        sentence = words.value_rowids() - tf.gather(
            tokens.text.row_starts(), tf.gather(tokens.text.value_rowids(), words.value_rowids())
        )
        outputs = {
            "tokens": words.flat_values,
            "start": tokens.start.flat_values,
            "end": tokens.end.flat_values,
            "probability": probability,
            "sentence": tf.cast(sentence, tf.int32),
            **({"attention": attention[0]} if attention else {}),
        }
        return outputs, labels, begins, tokens.text.merge_dims(1, 2)

    @tf.function(input_signature=texts, autograph=False)
    def tag(text):
        outputs, labels, begins, rows = read_words(text)
        outputs["tags"] = iob2(labels, begins)
        return {name: rows.with_flat_values(values) for name, values in outputs.items()}

    @tf.function(input_signature=texts, autograph=False)
    def find(text):
        outputs, labels, begins, rows = read_words(text)
        values = entities(labels, begins, outputs)
        which = tf.gather(rows.value_rowids(), values.pop("word"))  # the text that an entity is from
        letters = tf.strings.unicode_split(text, "UTF-8", errors="replace")
        first = tf.gather(letters.row_starts(), which)
        places = tf.ragged.range(*(first + tf.cast(values[side], tf.int64) for side in ("start", "end")))
        values["text"] = tf.strings.reduce_join(tf.gather(letters.flat_values, places), axis=-1)
        count = tf.size(text, out_type=tf.int64)
        rows_of = partial(tf.RaggedTensor.from_value_rowids, value_rowids=which, nrows=count, validate=False)
        return {name: rows_of(some) for name, some in values.items()}

    module.tag, module.entities = tag, find
    signatures = {"tag": _flat(tag, texts), "entities": _flat(find, texts)}
    return module, {**signatures, "serving_default": signatures["entities"]}


def _flat(function, specs):
    """A signature that returns the flat values of ragged tensors, and how many belong to each row.

    TensorFlow traces again, while it saves, what was traced before. So nothing is, and the file has each
    graph once.
    """
    import tensorflow as tf

    @tf.function(input_signature=specs, autograph=False)
    def flat(text):
        outputs = function(text)
        count = tf.cast(next(iter(outputs.values())).row_lengths(), tf.int32)
        return {"count": count, **{name: values.flat_values for name, values in outputs.items()}}

    return flat


def _tag_words(model, features, words):
    """Tags of the words of N sentences, their probabilities and the attention on them: a list of `(W,)`."""
    import tensorflow as tf

    # A model needs at least one sentence of one word: add a sentence of padding to an empty batch.
    features = {
        name: tf.pad(values, [[0, tf.maximum(1 - size, 0)] for size in tf.unstack(tf.shape(values))])
        for name, values in features.items()
    }
    rows = tf.pad(words.row_lengths(), [[0, tf.maximum(1 - tf.size(words.row_lengths()), 0)]])
    parts = tag_features(model, features)
    return [tf.RaggedTensor.from_tensor(part, lengths=rows).flat_values for part in parts]


def _ids_module(tagger):
    import tensorflow as tf

    specs = feature_specs(tagger.vocabulary, tagger.model.features)

    @tf.function(autograph=False)
    def tag(**features):
        tags, probabilities, attention_weights = tagger.model.tag(features)
        outputs = {"tags": tf.cast(tags, tf.int32), "probabilities": probabilities}
        return outputs if attention_weights is None else {**outputs, "attention_weights": attention_weights}

    signature = tag.get_concrete_function(**specs)
    return module_of(tagger.model), {"tag": signature, "serving_default": signature}


def verify(tagger, directory, texts):
    """Tags with the SavedModel in a separate process and compares; see `Task.verify_export`."""
    pairs = zip(tagger.tag_details(texts), ask(directory, "tag", texts), strict=True)
    for number, (ours, answer) in enumerate(pairs, start=1):
        compare(f"{directory}: text {number}", ours, answer)
    return len(texts)


def compare(where, ours, answer):
    """Raises KerasZooError if an export's answer for a text differs from a `TaggedText`."""
    exact = {
        "tokens": [token.text for token in ours.tokens],
        "start": [token.start for token in ours.tokens],
        "end": [token.end for token in ours.tokens],
        "tags": ours.tags,
    }
    if "sentence" in answer:  # a program of ONNX does not say it
        exact["sentence"] = [i for i, (first, last) in enumerate(ours.sentences) for _ in range(first, last)]
    for name, values in exact.items():
        if values != answer[name]:
            raise KerasZooError(f"{where}: {name} are {answer[name]!r} in the export, {values!r} here")
    for name, values in {"probability": ours.probabilities, "attention": ours.attention_weights}.items():
        if values is not None and not np.allclose(values, answer[name], atol=1e-4):
            raise KerasZooError(f"{where}: {name} differs between the export and the tagger")
