"""A tagger as a SavedModel: strings in, entities out, with nothing but TensorFlow and its text operations.

The directory holds two SavedModels. The one at its root wants `import tensorflow_text` before it is loaded:

    signature                 takes        gives
    entities (the default)    text (B,)    count (B,), text (E,), label (E,), start (E,), end (E,),
                                           probability (E,)
    tag                       text (B,)    count (B,), tokens (W,), tags (W,), start (W,), end (W,),
                                           probability (W,), sentence (W,)

E entities and W words of all texts stand behind each other; `count` says how many of them each text has. As
functions of the loaded object, `loaded.entities(texts)` and `loaded.tag(texts)` give the same as ragged
tensors `(B, ...)`, one row a text, without the count. A model that attends adds `attention`: the share of its
sentence's attention that lay on a word, or on the words of an entity.

The SavedModel in `ids/` is for servers without text operations, which make the features themselves:

    tag (the default)    words (B, T), ...    tags (B, T), probabilities (B, T, K), attention_weights (B, T)

Texts, tokens, labels and tags are strings, the tags of words in IOB2; places are counted in characters, the
end exclusive, `sentence` from 0 on in each text. Ids, places and counts are int32, the rest float32. B may be
0. `keraszoo.json` beside it names the K tags in the order of their ids.
"""

from functools import partial

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.tagging.compiled_tagger import feature_specs, tag_features
from keraszoo.tagging.graph_entities import GraphTags, entities, iob2
from keraszoo.tagging.graph_text import GraphFeatures, tokenize
from keraszoo.tasks.export import ask, module_of, write_modules


def export_tagger(tagger, directory):
    """Writes the SavedModels; see the table above.

    Raises:
        KerasZooError: another backend than TensorFlow, something else in the directory's place, or a disk
            that refuses.
    """
    parts = {"": partial(_texts_module, tagger), "ids": partial(_ids_module, tagger)}
    write_modules(directory, parts, {"task": "tagging", "tags": list(tagger.vocabulary.tags)})


def _texts_module(tagger):
    import tensorflow as tf

    module, names = module_of(tagger.model), tagger.model.features
    module.features = GraphFeatures(tagger.vocabulary)
    module.tables = [module.features.words, module.features.characters]
    tags_of = GraphTags(tagger.vocabulary.tags)
    texts = [tf.TensorSpec([None], tf.string, name="text")]

    @tf.function(input_signature=texts, autograph=False)  # the model stands once in the graph, for both below
    def found_in(text):
        """What is known of each word, its label, whether an entity begins there, and the words by text."""
        tokens = tokenize(text, tagger.vocabulary.token_rules)
        words = tokens.text.values  # (N, T), N sentences of all texts
        ids, probability, *attention = _tag_words(tagger.model, module.features.encode(words, names), words)
        first = tf.scatter_nd(
            words.row_starts()[:, None], tf.ones_like(words.row_starts(), tf.bool), [tf.size(ids)]
        )
        labels, begins = tags_of.read(ids, first)
        sentence = words.value_rowids() - tf.gather(
            tokens.text.row_starts(), tf.gather(tokens.text.value_rowids(), words.value_rowids())
        )
        known = {
            "tokens": words.flat_values,
            "start": tokens.start.flat_values,
            "end": tokens.end.flat_values,
            "probability": probability,
            "sentence": tf.cast(sentence, tf.int32),
            **({"attention": attention[0]} if attention else {}),
        }
        return known, labels, begins, tokens.text.merge_dims(1, 2)

    @tf.function(input_signature=texts, autograph=False)
    def tag(text):
        known, labels, begins, rows = found_in(text)
        known["tags"] = iob2(labels, begins)
        return {name: rows.with_flat_values(values) for name, values in known.items()}

    @tf.function(input_signature=texts, autograph=False)
    def find(text):
        known, labels, begins, rows = found_in(text)
        how = {"start": "first", "end": "last", "probability": "min", "attention": "sum"}
        found = entities(labels, begins, {name: (known[name], how[name]) for name in how if name in known})
        which = tf.gather(rows.value_rowids(), found.pop("word"))  # the text that an entity is from
        strings = tf.gather(tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace"), which)
        found["text"] = tf.strings.substr(
            strings, found["start"], found["end"] - found["start"], unit="UTF8_CHAR"
        )
        count = tf.size(text, out_type=tf.int64)
        return {name: tf.RaggedTensor.from_value_rowids(v, which, count) for name, v in found.items()}

    module.tag, module.entities = tag, find
    signatures = {"tag": _flat(tag, texts), "entities": _flat(find, texts)}
    return module, {**signatures, "serving_default": signatures["entities"]}


def _flat(function, specs):
    """A signature that gives the values of ragged tensors behind each other, and how many each row has."""
    import tensorflow as tf

    @tf.function(input_signature=specs, autograph=False)
    def flat(text):
        found = function(text)
        count = tf.cast(next(iter(found.values())).row_lengths(), tf.int32)
        return {"count": count, **{name: values.flat_values for name, values in found.items()}}

    return flat.get_concrete_function()


def _tag_words(model, features, words):
    """Tags of the words of N sentences, how probable each is, and the attention on it: a list of `(W,)`."""
    import tensorflow as tf

    # A model wants at least one sentence of one word; one of padding changes nothing.
    features = {
        name: tf.pad(values, [[0, tf.maximum(1 - size, 0)] for size in tf.unstack(tf.shape(values))])
        for name, values in features.items()
    }
    rows = tf.pad(words.row_lengths(), [[0, tf.maximum(1 - tf.size(words.row_lengths()), 0)]])
    found = tag_features(model, features)
    return [tf.RaggedTensor.from_tensor(part, lengths=rows).flat_values for part in found]


def _ids_module(tagger):
    import tensorflow as tf

    specs = feature_specs(tagger.vocabulary, tagger.model.features)

    @tf.function(autograph=False)
    def tag(**features):
        tags, probabilities, attention_weights = tagger.model.tag(features)
        found = {"tags": tf.cast(tags, tf.int32), "probabilities": probabilities}
        return found if attention_weights is None else {**found, "attention_weights": attention_weights}

    signature = tag.get_concrete_function(**specs)
    return module_of(tagger.model), {"tag": signature, "serving_default": signature}


PROGRAM = """
import json, sys
import tensorflow as tf
import tensorflow_text
assert "keraszoo" not in sys.modules
loaded = tf.saved_model.load(sys.argv[1])
texts, size, found = json.load(sys.stdin), 64, []
for i in range(0, len(texts), size):
    some = {name: values.to_list() for name, values in loaded.tag(tf.constant(texts[i:i + size])).items()}
    for row in range(len(texts[i:i + size])):
        found.append({name: [v.decode() if isinstance(v, bytes) else v for v in values[row]]
                      for name, values in some.items()})
json.dump(found, sys.stdout)
"""


def verify_export(tagger, directory, texts):
    """Tags with the SavedModel in a process of its own and compares; see `EntityTagger.verify_export`."""
    texts = list(texts)
    wanted = tagger.tag_details(texts)
    found = ask(directory, PROGRAM, texts)
    for number, (ours, theirs) in enumerate(zip(wanted, found, strict=True), start=1):
        _compare(directory, number, ours, theirs)
    return len(texts)


def _compare(directory, number, ours, theirs):
    """Raises KerasZooError for the first word of a text of which the two say something else."""
    sides = [
        list(zip(*(side[name] for name in ("tokens", "start", "end", "tags")), strict=True))
        for side in (_as_dict(ours), theirs)
    ]
    for mine, other in zip(*sides, strict=False):
        if mine != other:
            raise KerasZooError(f"{directory}: text {number}: the SavedModel says {other}, here it is {mine}")
    if len(sides[0]) != len(sides[1]):
        raise KerasZooError(f"{directory}: text {number}: {len(sides[1])} words, here {len(sides[0])}")
    pairs = [("probability", ours.probabilities), ("attention", ours.attention_weights)]
    for name, values in pairs:
        if values is not None and not np.allclose(values, theirs[name], atol=1e-4):
            raise KerasZooError(f"{directory}: text {number}: another {name} than here")


def _as_dict(found):
    tokens = {name: [getattr(token, name) for token in found.tokens] for name in ("text", "start", "end")}
    return {"tokens": tokens["text"], "start": tokens["start"], "end": tokens["end"], "tags": found.tags}
