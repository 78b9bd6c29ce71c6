"""Recipes: defaults, files, round trips, and one clear line for everything that can be mistyped."""

import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.errors import RecipeError
from keraszoo.models import RNNSearch
from keraszoo.search.options import SearchOptions
from keraszoo.translation.recipe import Recipe

FULL = {
    "data": {"train": {"source": "train.en", "target": "train.de"}, "test": {"tsv": "test.tsv"}},
    "subwords": {"type": "unigram", "joint": False, "character_coverage": 0.999},
    "model": {"name": "rnnsearch", "preset": "tiny", "overrides": {"dropout": 0.3, "units": [1, 2]}},
    "training": {"seed": 3, "optimizer": {"schedule": "constant", "clipnorm": 1.0}, "jit_compile": True},
    "search": {"beam_width": 1, "length_penalty": 0.6},
    "output": "out",
}
MINIMAL = {"data": {"train": {"tsv": "train.tsv"}}, "output": "out"}


def changed(values, dotted, value):
    """A copy of nested dictionaries with one value replaced."""
    copy = json.loads(json.dumps(values))
    section = copy
    *above, last = dotted.split(".")
    for key in above:
        section = section.setdefault(key, {})
    section[last] = value
    return copy


def test_defaults_are_those_of_the_papers_where_they_have_one():
    recipe = Recipe.from_dict(MINIMAL)
    optimizer = recipe.training.optimizer
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.98, 1e-9)
    assert recipe.training.label_smoothing == 0.1
    assert recipe.training.jit_compile is None
    assert recipe.data.validation is None
    assert SearchOptions(**recipe.as_dict()["search"]) == SearchOptions()


def test_a_recipe_keeps_all_values_and_survives_json():
    def holds(wanted, got):
        return all(holds(v, got[k]) if isinstance(v, dict) else got[k] == v for k, v in wanted.items())

    for values in (MINIMAL, FULL):
        recipe = Recipe.from_dict(values)
        assert Recipe.from_dict(json.loads(json.dumps(recipe.as_dict()))) == recipe
        assert holds(values, recipe.as_dict())


def test_a_key_in_the_wrong_section_is_found_in_the_right_one():
    with pytest.raises(RecipeError, match=r"^recipe: seed: unknown key, did you mean training.seed\?$"):
        Recipe.from_dict({**MINIMAL, "seed": 1})


@pytest.mark.parametrize(
    ("dotted", "value", "said"),
    [
        ("training.seed", True, "training.seed: expected a valid integer, got True"),
        ("training.seed", -1, "training.seed: expected greater than or equal to 0, got -1"),
        ("training.seed", 2**32, "training.seed: expected less than 4294967296, got 4294967296"),
        ("training.epochs", 0, "training.epochs: expected greater than or equal to 1, got 0"),
        ("training.label_smoothing", 1.0, "training.label_smoothing: expected less than 1, got 1.0"),
        ("training.tensorboard", 1, "training.tensorboard: expected a valid boolean, got 1"),
        ("training.monitor", "val_acc", "expected 'val_bleu' or 'val_loss', got 'val_acc'"),
        ("training.precision", "float16", "expected 'float32', 'mixed_bfloat16' or 'mixed_float16', got"),
        ("training.optimizer.epsilon", float("nan"), "training.optimizer.epsilon: expected a finite number"),
        ("training.optimizer.beta_1", 1, "training.optimizer.beta_1: expected less than 1, got 1"),
        ("training.optimizer.clipnorm", 0, "training.optimizer.clipnorm: expected greater than 0, got 0"),
        ("training.optimizer.schedule", ["constant"], "optimizer.schedule: expected 'transformer', "),
        ("search.length_penalty", -0.1, "search.length_penalty: expected greater than or equal to 0"),
        ("subwords.vocabulary_size", 7, "subwords.vocabulary_size: expected greater than or equal to 8"),
        ("subwords.character_coverage", 0.5, "expected greater than or equal to 0.98"),
        ("model.name", "lstm", "model.name: expected 'rnnencdec', 'deeplstm', 'simplified', "),
        ("model.preset", 3, "model.preset: expected text, got 3"),
        ("model.overrides", [1], "model.overrides: expected a valid dictionary, got [1]"),
        ("output", "", "output: expected a path, got ''"),
        ("output", "x" * 300 + "\0", "output: expected a path, got 'xxx"),
        ("about", {"licens": "mit"}, "about: licens: unknown key, did you mean licence?"),
        ("search", ["x" * 300] * 300, "search: expected a section with some of beam_width, max_length, "),
    ],
)
def test_an_ill_typed_value_names_key_expectation_and_what_came(dotted, value, said):
    with pytest.raises(RecipeError) as error:
        Recipe.from_dict(changed(MINIMAL, dotted, value))
    assert said in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("data.train", {"source": "a"}, "expected `source` and `target`, or `tsv` alone, got source"),
        ("data.train", {"source": "a", "target": "b", "tsv": "c"}, "got source and target and tsv"),
        ("data.train", {}, "got nothing"),
        ("subwords", {"source_model": "a"}, "`source_model` and `target_model` together, got one of them"),
        ("subwords", {"model": "a", "source_model": "b", "target_model": "c"}, "got all three"),
        ("subwords", {"model": "a", "joint": False}, "but `joint` is false"),
        ("subwords", {"source_model": "a", "target_model": "b", "joint": True}, "but `joint` is true"),
        ("subwords", {"model": "a", "vocabulary_size": 9}, "`vocabulary_size` has no effect on an existing"),
        ("training.optimizer", {"schedule": "transformer", "learning_rate": 1.0}, "`learning_rate` has no"),
        ("training.optimizer", {"schedule": "cosine", "factor": 1.0}, "`factor` has no effect with"),
        ("training.optimizer", {"schedule": "constant", "warmup_steps": 9}, "`warmup_steps` has no effect"),
        ("training", {"strategy": "mirrored", "jit_compile": True}, "does not work with `strategy: "),
        ("search", {"min_length": 9, "max_length": 9}, "min_length must be from 0 to 8 (max_length - 1)"),
        ("training.patience", 3, "`training.patience` needs `data.validation`"),
        ("training.monitor", "val_loss", "`training.monitor` needs `data.validation`"),
    ],
)
def test_values_that_contradict_or_would_be_ignored_raise_errors(key, value, said):
    with pytest.raises(RecipeError) as error:
        Recipe.from_dict(changed(MINIMAL, key, value))
    assert said in str(error.value)


def test_two_vocabularies_are_not_joint():
    brought = {"source_model": "a", "target_model": "b"}
    assert not Recipe.from_dict({**MINIMAL, "subwords": brought}).subwords.joint


def test_each_schedule_has_the_defaults_it_reads():
    def optimizer(**values):
        training = Recipe.from_dict({**MINIMAL, "training": {"optimizer": values}}).training
        return training.optimizer.factor, training.optimizer.learning_rate, training.optimizer.warmup_steps

    assert optimizer(schedule="transformer") == (1.0, None, None)
    assert optimizer() == optimizer(schedule="inverse_sqrt") == (None, 7e-4, None)
    assert optimizer(schedule="cosine") == (None, 7e-4, None)
    assert optimizer(schedule="constant") == (None, 1e-3, None)
    assert optimizer(warmup_steps=10, learning_rate=1) == (None, 1, 10)


def test_several_problems_stand_in_one_line():
    with pytest.raises(RecipeError) as error:
        Recipe.from_dict({"data": {"train": {"tsv": "a"}}, "training": {"seed": "x", "epohs": 2}})
    parts = str(error.value).split("; ")
    assert len(parts) == 3 and parts[2] == "recipe: output: missing, and there is no default"


def test_preset_and_overrides_are_compared_with_the_class():
    recipe = Recipe.from_dict({**MINIMAL, "model": {"overrides": {"dropuot": 0.1}}})
    with pytest.raises(RecipeError, match=r"model.overrides.dropuot: unknown key, did you mean dropout\?"):
        recipe.model_class()
    recipe = Recipe.from_dict({**MINIMAL, "model": {"preset": "smal"}})
    said = r"recipe: model.preset: transformer has no preset 'smal', did you mean small\?"
    with pytest.raises(RecipeError, match=said):
        recipe.model_class()
    assert Recipe.from_dict(FULL).model_class() is RNNSearch


KEYS = sorted(set(re.findall(r"'(\w+)': ", str(Recipe.from_dict(MINIMAL).as_dict()))))
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(ANY)
def test_any_value_is_a_recipe_or_one_line(values):
    try:
        Recipe.from_dict(values)
    except RecipeError as error:
        assert len(str(error).splitlines()) == 1
