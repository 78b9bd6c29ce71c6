"""Configurations that mean harm: refused before memory is taken or anything of them is run."""

import json
import resource

import pytest

from keraszoo import QuestionAnswerer
from keraszoo.errors import PresetError
from keraszoo.registry import TASKS, model_classes
from keraszoo.saving import model_directory
from keraszoo.saving.entries import argument_entries, checked


def read(saved, tmp_path, change):
    """Reads a directory, whole and with a manifest of its own, whose configuration was changed."""
    config = json.loads((saved / "config.json").read_text())
    change(config)
    files = {path.name: path.read_bytes() for path in saved.iterdir() if path.name != "manifest.json"}
    model_directory.write_directory(tmp_path / "changed", {**files, "config.json": config})
    return QuestionAnswerer.from_preset(tmp_path / "changed")


def set_(**arguments):
    return lambda config: config["model"]["config"].update(arguments)


LAMBDA = {"class_name": "Lambda", "module": "keras.layers", "config": {"function": "import os"}}
ATTACKS = {
    "another class": (lambda c: c["model"].update({"class": "Lambda"}), "there is no model 'Lambda'"),
    "a class that is a dict": (lambda c: c["model"].update({"class": LAMBDA}), "there is no model"),
    "a model that is text": (lambda c: c.update(model="x" * 10**5), "there is no model"),
    "no arguments": (lambda c: c["model"].update(config=[1]), "MemoryNetwork: expected a section with some"),
    "a layer as an argument": (set_(encoding=LAMBDA), "MemoryNetwork: encoding: expected text, got {"),
    "a policy that is looked up": (set_(dtype=LAMBDA), "MemoryNetwork: dtype: unknown key, expected one of"),
    "a name with a path": (set_(name="../../x"), "MemoryNetwork: name: unknown key, expected one of"),
    "an unknown argument": (set_(colour="red"), "MemoryNetwork: colour: unknown key, expected one of"),
    "a huge vocabulary": (set_(vocabulary_size=2_000_000_000), r"expected \(2000000000, "),
    "a huge width": (set_(width=2_000_000_000), r"expected \(.*2000000000\)|not one of"),
    "a million layers": (set_(hops=1_000_000), "hops is 1000000, but the weight file has"),
    "a number of many digits": (set_(width=10**4000), "width: expected less .* 2147483648, got 1000000000"),
    "a size below zero": (set_(vocabulary_size=-5), "vocabulary_size: expected .* equal to 0, got -5"),
    "no hop": (set_(hops=0), "does not describe a valid model: hops"),
    "a fraction": (set_(vocabulary_size=5.5), "vocabulary_size: expected a valid integer, got 5.5"),
    "another size": (set_(width=5), r"makes another model .* is \(.*, 4\), expected \(.*, 5\)"),
    "facts that are none": (lambda c: c.update(about={"licence": ["x"]}), "licence: expected text"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_configuration_is_refused_and_takes_nothing(answerer_directory, tmp_path, name):
    change, said = ATTACKS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PresetError, match=said) as error:
        read(answerer_directory, tmp_path, change)
    assert str(tmp_path / "changed") in str(error.value) and len(str(error.value)) < 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB: no size was believed


def test_nothing_of_a_refused_model_waits_to_be_made(answerer_directory, tmp_path):
    """Keras makes variables that a stateless scope put off at the end of the next one, in the same thread."""
    import keras

    with pytest.raises(PresetError):
        read(answerer_directory, tmp_path, set_(vocabulary_size=2_000_000_000))
    with keras.StatelessScope():
        pass
    assert read(answerer_directory, tmp_path, set_(noise=0.2)).model.noise == 0.2


RATES = {"dropout", "attention_dropout", "hidden_dropout", "word_dropout", "noise", "epsilon"}
WORDS = "window cell score tie_embeddings positions characters constrain connections context tying".split()
WORDS += "encoding activation pooling".split()
FLAGS = "scale_embeddings share_embeddings tie_output reverse_source input_feeding pre_norm use_bias".split()
FLAGS += "train_vectors int8_vectors crf bidirectional output_bias train_backbone".split()
MODELS = [kind for task in TASKS for kind in model_classes(task).values()]


@pytest.mark.parametrize("kind", MODELS)
def test_every_argument_of_every_model_has_one_type_and_range(kind):
    parameters = kind.constructor_parameters()
    parameters.pop("allowed", None)
    entries = argument_entries(parameters)
    sizes = {name: 7 for name, parameter in parameters.items() if parameter.default is parameter.empty}
    sizes |= {"backbone": {"class": "BertBackbone", "num_layers": 2}} if "backbone" in parameters else {}
    for values in ({}, *kind.configurations.values()):
        checked(entries, {**sizes, **values}, "config.json")
    for name in parameters:
        wrong = [1 << 40, -1, 1.5, "3", True]  # a size
        if name in RATES:
            wrong = [1, 1.5, -0.1, float("nan"), "0.1", True]
        elif name == "half_width":  # a number above 0
            wrong = [1 << 40, -1, 0, float("inf"), "3", True]
        elif name in WORDS:
            wrong = [1, 0.5, True, ["x"]]
        elif name == "backbone":
            wrong = [7, "BertBackbone", ["x"], None]
        elif name in FLAGS:
            wrong = [1, 1.0, "../../etc/passwd", None]
        for value in wrong:
            with pytest.raises(PresetError, match=f"^config.json: {name}: .*, got "):
                checked(entries, {**sizes, name: value}, "config.json")
