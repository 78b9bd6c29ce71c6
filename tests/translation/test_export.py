"""The SavedModel says what the translator says, in a process that has neither Keras nor keraszoo."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import descriptor_pb2, message_factory

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.translation import export as saved_translator

# Loads the text operation itself, as a server written in C++ would: `import tensorflow_text` imports Keras.
PROGRAM = """
import importlib.util, json, sys
from pathlib import Path

assert not any(map(importlib.util.find_spec, ("keras", "keraszoo", "sentencepiece")))
import tensorflow as tf

folder = Path(importlib.util.find_spec("tensorflow_text").submodule_search_locations[0]) / "python/ops"
tf.load_op_library(str(folder / "_sentencepiece_tokenizer.so"))
batches = json.load(sys.stdin)
translate = tf.saved_model.load(sys.argv[1]).signatures["translate"]
answers = [translate(text=tf.constant(texts, tf.string)) for texts in batches]
texts = [[text.decode() for text in answer["translation"].numpy()] for answer in answers]
json.dump([texts, [answer["log_prob"].numpy().tolist() for answer in answers]], sys.stdout)
"""


@pytest.fixture(scope="module")
def loaded(exported_translator):
    import tensorflow_text  # noqa: F401

    return tf.saved_model.load(str(exported_translator))


def text(*texts):
    return tf.constant(texts, tf.string)


def decoded(tensor):
    return [value.decode() for value in tensor.numpy().ravel()]


def test_the_same_without_keras_and_keraszoo(exported_translator, sources, details, trained, tmp_path):
    installed = Path(sysconfig.get_path("purelib"))
    for entry in installed.iterdir():
        if not entry.name.lower().startswith(("keras", "sentencepiece")) and entry.suffix != ".pth":
            (tmp_path / entry.name).symlink_to(entry)
    strange = ["", "  ", "one\x00two", "Ünïcödé 😀", "one\ttwo\x1b\u200bthree", "<s> one </s>", "one " * 30]
    batches = [sources, [], strange, *([source] for source in [*sources[:3], ""])]
    ran = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, str(exported_translator)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "3"},
        input=json.dumps(batches),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    texts, log_probs = json.loads(ran.stdout)
    assert texts[0] == [detail.text for detail in details]
    np.testing.assert_allclose(log_probs[0], [detail.log_prob for detail in details], atol=1e-4)
    assert texts[1] == log_probs[1] == []
    with pytest.warns(UserWarning, match="1 of 7 sentences are cut to 24 subwords"):
        ours = trained.translate_details(strange)
    assert texts[2] == [detail.text for detail in ours]
    np.testing.assert_allclose(log_probs[2], [detail.log_prob for detail in ours], atol=1e-4)
    assert texts[2][:2] == ["", ""] and log_probs[2][:2] == [0, 0]
    assert texts[3:] == [[detail.text] for detail in details[:3]] + [[""]]
    np.testing.assert_allclose(
        np.ravel(log_probs[3:6]), [detail.log_prob for detail in details[:3]], atol=1e-4
    )


def test_signatures(loaded, exported_translator):
    signatures = {name: set(s.structured_outputs) for name, s in loaded.signatures.items()}
    best = {"translation", "log_prob"}
    assert signatures == {
        "serving_default": best,
        "translate": best,
        "n_best": {"translations", "log_prob", "score"},
        "attention": best | {"tokens", "source_tokens", "attention_weights"},
    }
    ids = tf.saved_model.load(str(exported_translator / "ids"))
    assert set(ids.signatures) == {"serving_default", "translate"}


def test_n_best(loaded, trained, sources):
    n_best = loaded.signatures["n_best"]
    answer = n_best(text=text(*sources[:4], ""))
    wanted = trained.n_best(sources[:4], num_hypotheses=3)
    assert answer["translations"].shape == answer["log_prob"].shape == answer["score"].shape == (5, 3)
    assert decoded(answer["translations"][:4]) == [h.text for hypotheses in wanted for h in hypotheses]
    scores = [[hypothesis.score for hypothesis in hypotheses] for hypotheses in wanted]
    np.testing.assert_allclose(answer["score"][:4], scores, atol=1e-4)
    assert decoded(answer["translations"][4]) == ["", "", ""]
    assert n_best(text=text())["translations"].shape == (0, 3)


def test_attention(loaded, sources, details):
    attention = loaded.signatures["attention"]
    answer = attention(text=text(*sources[:5]))
    weights = answer["attention_weights"].numpy()
    for i, wanted in enumerate(details[:5]):
        rows, columns = wanted.attention_weights.shape
        assert decoded(answer["tokens"][i, :rows]) == wanted.tokens
        assert decoded(answer["source_tokens"][i, :columns]) == wanted.source_tokens
        np.testing.assert_allclose(weights[i, :rows].sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(weights[i, :rows, :columns], wanted.attention_weights, atol=1e-5)
    assert decoded(answer["translation"]) == [wanted.text for wanted in details[:5]]
    assert weights.shape == (5, *answer["tokens"].shape[1:], *answer["source_tokens"].shape[1:])
    assert attention(text=text())["attention_weights"].shape[0] == 0


def test_ids_alone(exported_translator, trained, sources, details):
    translate = tf.saved_model.load(str(exported_translator / "ids")).signatures["translate"]
    padded = trained.compiled_search.pad(trained.source_subwords.encode(sources[:5]))
    answer = {name: value.numpy() for name, value in translate(source_ids=tf.constant(padded)).items()}
    rows = [
        row[: length - 1].tolist() for row, length in zip(answer["tokens"], answer["lengths"], strict=True)
    ]
    assert trained.target_subwords.decode(rows) == [wanted.text for wanted in details[:5]]
    np.testing.assert_allclose(answer["log_prob"], [wanted.log_prob for wanted in details[:5]], atol=1e-4)


@pytest.mark.slow
def test_two_exports_in_one_process_keep_their_vocabularies(
    loaded, make_transformer, sources, details, tmp_path
):
    other = make_transformer()
    other.export(tmp_path / "other")
    again = tf.saved_model.load(str(tmp_path / "other"))
    german = ["eins zwei drei", "vier fünf", ""]
    texts = again.signatures["translate"](text=text(*german))["translation"]
    assert decoded(texts) == other.translate(german)
    texts = loaded.signatures["translate"](text=text(*sources[:3]))["translation"]
    assert decoded(texts) == [wanted.text for wanted in details[:3]]


@pytest.mark.slow
def test_verification_runs_the_saved_model(exported_translator, trained, sources, tmp_path):
    assert trained.verify_export(exported_translator, sources[:3]) == 3
    with pytest.raises(KerasZooError, match="the SavedModel cannot be run"):
        trained.verify_export(tmp_path, ["one"])


def test_verification_finds_a_difference(trained, sources, monkeypatch):
    monkeypatch.setattr(Translator, "translate", lambda self, texts: ["etwas", "anderes"])
    monkeypatch.setattr(saved_translator, "ask", lambda *_: [{"translation": "etwas"}, {"translation": "x"}])
    with pytest.raises(KerasZooError, match="text 2 .* is translated to 'x' by the SavedModel, to 'anderes'"):
        trained.verify_export("directory", sources[:2])


# The fields of TensorFlow Serving's messages that a warm-up request has, with their numbers and kinds.
MESSAGES = {
    "PredictionLog": {"predict_log": (6, "PredictLog")},
    "PredictLog": {"request": (1, "PredictRequest")},
    "PredictRequest": {"model_spec": (1, "ModelSpec"), "inputs": (2, "Input")},
    "ModelSpec": {"signature_name": (3, None)},
    "Input": {"key": (1, None), "value": (2, None)},
}


def serving_classes():
    """The classes of MESSAGES; strings and tensors are read as bytes, whose format is the same."""
    file = descriptor_pb2.FileDescriptorProto(name="warm_up.proto", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            label = 3 if field == "inputs" else 1  # repeated, optional
            options = {"type": 11, "type_name": kind} if kind else {"type": 12}  # a message, bytes
            message.field.add(name=field, number=number, label=label, **options)
    return message_factory.GetMessages([file])


@pytest.mark.parametrize(("part", "name"), [("", "text"), ("ids", "source_ids")])
def test_warm_up_requests_are_those_of_tensorflow_serving(exported_translator, trained, part, name):
    path = exported_translator / part / "assets.extra" / "tf_serving_warmup_requests"
    tensor_proto = type(tf.make_tensor_proto(0))
    read, tensors = serving_classes()["PredictionLog"].FromString, []
    for record in tf.data.TFRecordDataset(str(path)):
        request = read(record.numpy()).predict_log.request
        (entry,) = request.inputs
        assert (request.model_spec.signature_name, entry.key) == (b"serving_default", name.encode())
        tensors.append(tf.make_ndarray(tensor_proto.FromString(entry.value)))
    (tensor,) = tensors  # the plain graph serves all shapes
    assert len(tensor) == 1
    if name == "text":
        (ids,) = trained.source_subwords.encode([tensor[0].decode()])
        assert len(ids) + 1 == 16
    else:
        assert tensor.shape[1] == 16
