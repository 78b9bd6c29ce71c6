"""The SavedModel says what the tagger says, in a process without Keras and keraszoo."""

import dataclasses
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keraszoo.errors import KerasZooError
from keraszoo.tagging.export import compare
from keraszoo.tagging.graph_ops import GraphTags, entities, graph_form, iob2
from keraszoo.text.tag_schemes import convert, spans, tag_names
from keraszoo.text.word_vectors import BACKOFFS


@pytest.fixture(scope="module")
def loaded(exported_tagger):
    import tensorflow_text  # noqa: F401

    return tf.saved_model.load(str(exported_tagger))


def decoded(values):
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def test_words_tags_places_and_figures_are_the_same(loaded, trained_tagger, other_sentences, strange_texts):
    texts = [" ".join(sentence.tokens) for sentence in other_sentences[:9]] + strange_texts
    columns = {name: values.to_list() for name, values in loaded.tag(tf.constant(texts)).items()}
    for i, wanted in enumerate(trained_tagger.tag_details(texts)):
        compare(f"text {i}", wanted, {name: decoded(values[i]) for name, values in columns.items()})
    assert loaded.tag(tf.constant([], tf.string))["tokens"].shape[0] == 0


def test_entities_are_the_same(loaded, trained_tagger, strange_texts):
    raw = [*(text.encode() for text in (strange_texts[3], "", strange_texts[7])), b"Paris \xff\xfe New York"]
    find = loaded.signatures["serving_default"]
    columns = {name: values.numpy() for name, values in find(text=tf.constant(raw)).items()}
    wanted = trained_tagger.tag([text.decode("utf-8", "replace") for text in raw])
    assert columns["count"].tolist() == [len(some) for some in wanted]
    for i, entity in enumerate(entity for some in wanted for entity in some):
        ours = {name: decoded([columns[name][i]])[0] for name in dataclasses.asdict(entity)}
        assert ours == pytest.approx(dataclasses.asdict(entity), abs=1e-5)
    assert find(text=tf.constant([], tf.string))["count"].shape == (0,)
    assert set(loaded.signatures) == {"serving_default", "tag", "entities"}


def test_the_model_is_in_the_file_once(exported_tagger):
    saved = saved_model_pb2.SavedModel.FromString((exported_tagger / "saved_model.pb").read_bytes())
    functions = [f.signature.name for f in saved.meta_graphs[0].graph_def.library.function]
    assert sum("read_words" in name for name in functions) == 1


@pytest.mark.slow
def test_the_entities_of_a_long_text(loaded, trained_tagger):
    texts = ["🇫🇷 In Paris ran Ada Lovelace. " * 4000, "é Paris"]
    found = loaded.entities(tf.constant(texts))
    wanted = [[entity.text for entity in some] for some in trained_tagger.tag(texts)]
    assert [decoded(some) for some in found["text"].to_list()] == wanted and len(wanted[0]) > 4000


@pytest.mark.slow
def test_verification_runs_the_saved_model(exported_tagger, trained_tagger):
    assert trained_tagger.verify_export(exported_tagger, ["In Paris , Ada met Kurt Gödel .", ""]) == 2


def test_ids_alone(exported_tagger, trained_tagger):
    tag = tf.saved_model.load(str(exported_tagger / "ids")).signatures["tag"]
    tokens = [["In", "New", "York"], ["Ada"]]
    features = trained_tagger.vocabulary.encode(tokens)
    answer = tag(**{name: tf.constant(features[name]) for name in trained_tagger.model.features})
    names = json.loads((exported_tagger / "keraszoo.json").read_text())["tags"]
    assert tuple(names) == trained_tagger.vocabulary.tags
    assert answer["probabilities"].shape[2] == len(names)
    details = trained_tagger.tag_tokens_details(tokens)
    for i, probabilities in enumerate(trained_tagger.tag_probabilities(tokens)):
        words = len(tokens[i])
        np.testing.assert_allclose(answer["probabilities"][i, :words], probabilities, atol=1e-5)
        given = answer["attention_weights"][i, :words]
        np.testing.assert_allclose(given, details[i].attention_weights, atol=1e-5)
    given = trained_tagger.vocabulary.decode_tags(answer["tags"].numpy(), [3, 1])
    assert given == [("O", "B-LOC", "E-LOC"), tuple(names[i] for i in answer["tags"].numpy()[1, :1])]


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES", "BILOU", "IOB1"])
def test_tags_are_read_alike_also_those_that_the_scheme_does_not_allow(scheme):
    draw, names = random.Random(2), tag_names(["A", "B"], scheme)
    sentences = [[draw.choice(names) for _ in range(draw.randint(1, 7))] for _ in range(80)]
    flat = [names.index(tag) for tags in sentences for tag in tags]
    first = [place == 0 for tags in sentences for place in range(len(tags))]
    labels, begins = GraphTags(names).read(tf.constant(flat), tf.constant(first))
    wanted = [tag for tags in sentences for tag in convert(tags, scheme, "IOB2")]
    assert decoded(iob2(labels, begins).numpy()) == wanted
    numbers = tf.range(len(flat))
    words = {"start": numbers, "end": numbers, "probability": tf.cast(numbers, tf.float32)}
    columns = entities(labels, begins, words)
    places = iter(range(len(flat)))
    shifted = [[next(places) for _ in tags] for tags in sentences]
    spelt = [
        (span.label, place[span.start], place[span.end - 1])
        for tags, place in zip(sentences, shifted, strict=True)
        for span in spans(tags, scheme)
    ]
    ours = [decoded(columns[name].numpy().tolist()) for name in ("label", "start", "end")]
    assert list(zip(*ours, strict=True)) == spelt


@pytest.mark.parametrize("name", BACKOFFS)
def test_forms_of_words_are_the_same(name):
    words = ["B12", "éÉ", "ΣΑΣ", "straße", "ǅ", "iPhone4S", "١٢", "日本", "", "x", "ﬁ", "ΐ"]
    forms = graph_form(tf.constant(words), name).numpy()
    assert decoded(forms) == [BACKOFFS[name](word) for word in words]


@pytest.mark.slow
def test_forms_do_not_depend_on_the_locale():
    program = (
        "import tensorflow as tf\n"
        "from keraszoo.tagging.graph_ops import graph_form\n"
        "for form in ('lower', 'capital'): print(*graph_form(tf.constant(['TITLE', 'INDIA']), form).numpy())"
    )
    turkish = {**os.environ, "LC_ALL": "tr_TR.UTF-8"}
    ended = subprocess.run([sys.executable, "-c", program], env=turkish, capture_output=True, check=True)
    assert ended.stdout.decode().splitlines() == ["b'title' b'india'", "b'Title' b'India'"]


def test_verification_finds_a_difference(trained_tagger):
    (ours,) = trained_tagger.tag_details(["In Paris , Ada met Kurt Gödel ."])
    answer = {name: [getattr(token, name) for token in ours.tokens] for name in ("start", "end")}
    answer |= {"tokens": [token.text for token in ours.tokens], "tags": ours.tags}
    answer |= {"probability": ours.probabilities, "attention": ours.attention_weights}
    compare("d: text 1", ours, answer)
    for name, other, said in (
        ("tags", ["O"] * 8, r"d: text 1: tags are \['O', .* in the export, \['O', 'B-LOC', .* here"),
        ("tokens", answer["tokens"][:-1], "d: text 1: tokens are"),
        ("start", [place + 1 for place in answer["start"]], "d: text 1: start are"),
        ("end", [place + 1 for place in answer["end"]], "d: text 1: end are"),
        ("sentence", [1] * 8, "d: text 1: sentence are"),
        ("probability", ours.probabilities - 0.1, "d: text 1: probability differs between"),
        ("attention", ours.attention_weights + 0.1, "d: text 1: attention differs between"),
    ):
        with pytest.raises(KerasZooError, match=said):
            compare("d: text 1", ours, {**answer, name: other})
