"""The file of a recipe: YAML, places of errors, overrides and paths."""

import pytest

from keraszoo.errors import RecipeError
from keraszoo.translation.recipe import Recipe

TEXT = """\
data:
  train: {source: train.en, target: train.de}
training:
  seed: 3
  optimizer:
    epsilon: 1e-8
output: runs/one
"""


def test_paths_are_meant_from_the_recipe_unless_they_are_absolute(write, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    recipe = Recipe.read(write(TEXT))
    assert recipe.path(recipe.data.train.source) == str(tmp_path / "train.en")
    assert recipe.path(recipe.output) == str(tmp_path / "runs" / "one")
    monkeypatch.setenv("HOME", "/home/somebody")
    recipe = Recipe.read(write("data: {train: {source: /a/b, target: ~/c}}\noutput: ../out"))
    assert recipe.path(recipe.data.train.source) == "/a/b"
    assert recipe.path(recipe.data.train.target) == "/home/somebody/c"
    recipe = Recipe.from_dict({"data": {"train": {"tsv": "a"}}, "output": "runs/x/"})
    assert (recipe.path(recipe.output), recipe.output) == ("runs/x", "runs/x/")


def test_a_path_in_an_override_is_meant_from_where_it_was_typed(write, tmp_path, monkeypatch):
    here = tmp_path / "here"
    (here / "earlier").mkdir(parents=True)
    monkeypatch.chdir(here)
    overrides = ["model.start_from=earlier", "subwords={model: runs/joint.model}", "data.train.target=b.de"]
    recipe = Recipe.read(write(TEXT), overrides)
    assert recipe.preset(recipe.model.start_from) == str(here / "earlier")
    assert recipe.preset(recipe.subwords.model) == str(here / "runs" / "joint.model")
    assert recipe.path(recipe.data.train.target) == str(here / "b.de")
    assert recipe.path(recipe.data.train.source) == str(tmp_path / "train.en")
    assert recipe.as_dict()["model"]["start_from"] == "earlier"
    for name in ("shipped_name", "our-own-name"):
        recipe = Recipe.read(write(TEXT, "recipe.yaml"), [f"model.start_from={name}"])
        assert recipe.preset(recipe.model.start_from) == recipe.model.start_from == name


@pytest.mark.parametrize("place", ["recipe", "--set"])
def test_an_address_on_the_hub_is_no_path(write, place, monkeypatch):
    address = "hf://user/name-v1.0"
    in_file = place == "recipe"
    text = f"model: {{start_from: {address}}}\n" if in_file else ""
    recipe = Recipe.read(write(text + TEXT), [] if in_file else [f"model.start_from={address}"])
    assert recipe.model.start_from == recipe.as_dict()["model"]["start_from"] == address
    assert recipe.preset(recipe.model.start_from) == address
    monkeypatch.setenv("KERASZOO_PLACE", address)
    recipe = Recipe.read(write(TEXT), ["model.start_from=${KERASZOO_PLACE}"])
    assert recipe.preset(recipe.model.start_from) == address
    with pytest.raises(RecipeError, match="data.test.tsv: expected a path, got an address on the Hub, 'hf:"):
        Recipe.read(write(TEXT), [f"data.test.tsv={address}"])
    with pytest.raises(RecipeError, match="model.start_from: hf://user: expected hf://USER/NAME"):
        Recipe.read(write(TEXT), ["model.start_from=hf://user"])


def test_environment_variables_in_paths(write, tmp_path, monkeypatch):
    text = "data: {train: {tsv: '${MY_DATA}/a.tsv'}, test: {tsv: '${MY_OTHER:-near}/b.tsv'}}\noutput: o"
    path = write(text, "recipe.yaml")
    monkeypatch.setenv("MY_DATA", "/far")
    monkeypatch.delenv("MY_OTHER", raising=False)
    recipe = Recipe.read(path)
    assert recipe.path(recipe.data.train.tsv) == "/far/a.tsv"
    assert recipe.path(recipe.data.test.tsv) == str(tmp_path / "near" / "b.tsv")
    monkeypatch.delenv("MY_DATA")
    with pytest.raises(RecipeError, match=r"yaml:1: data.train.tsv: the environment variable MY_DATA is not"):
        Recipe.read(path)


def test_a_path_in_a_variable_is_meant_from_where_it_was_set(write, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("MY_DATA", "near")
    text = "data: {train: {tsv: '${MY_DATA}/a.tsv'}, test: {tsv: 'x/${MY_DATA}'}}\noutput: o"
    recipe = Recipe.read(write(text))
    assert recipe.path(recipe.data.train.tsv) == str(here / "near" / "a.tsv")
    assert recipe.path(recipe.data.test.tsv) == str(tmp_path / "x" / "near")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("seed: 3", "seed: x"), ":4: training.seed: expected a valid integer, got 'x'"),
        ("output: o\ndata:\n  max_length: 3\n", ":2: data.train: missing, and there is no default"),
        ("a: 1\nb: 2\na: 3\n", ":3: not YAML: a: repeated, first in line 1"),
        (TEXT.replace("  seed: 3\n", 2 * "  seed: 3\n"), ":5: not YAML: training.seed: repeated, first in"),
        ("a: [1\nb: 2", "not YAML"),
        ("a: 1\nb: !!bool foo", ":2: not YAML: expected null, a bool, a number, text, a list or keys, got"),
        ("", "expected the sections of a recipe (data, output, ...), got nothing"),
        ("- 1", "expected the sections of a recipe (data, output, ...), got list"),
        ("[" * 5000, ":1: not YAML: nested more than 32 levels deep"),
        ("1: 2", ""),
        ("a: &x {b: 1}\nc: *x", ":2: not YAML: an alias of an anchor (&name) is not allowed"),
        ("a: 1\n---\nb: 2", "not YAML: expected one document, but found another document"),
        (b"a: \xff", "expected UTF-8 text, got invalid start byte at byte 3"),
    ],
)
def test_what_is_no_recipe_is_one_line_with_the_file(write, text, said):
    path = write(text)
    with pytest.raises(RecipeError) as error:
        Recipe.read(path)
    assert str(error.value).startswith(str(path)) and said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "said"), [("none", "No such file"), ("", "Is a dir"), ("a\0b", "null")])
def test_a_file_that_cannot_be_read(tmp_path, name, said):
    with pytest.raises(RecipeError, match=said):
        Recipe.read(tmp_path / name)


def test_overrides_replace_and_add(write):
    overrides = ["training.seed=7", "search.beam_width = 2", "model.overrides={dropout: 0.5}", "output=/x=y"]
    recipe = Recipe.read(write("\ufeff" + TEXT), overrides)  # a byte order mark is no key
    assert recipe.training.seed == 7
    assert recipe.search.beam_width == 2
    assert recipe.model.overrides == {"dropout": 0.5}
    assert recipe.path(recipe.output) == "/x=y"
    assert recipe.training.optimizer.epsilon == 1e-8


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("training.seed", "--set training.seed: expected key=value such as training.seed=3"),
        ("=3", "--set =3: expected key=value"),
        ("output.x=3", "--set output.x=3: output is a value, not a section"),
        ("training.seed=[", "--set training.seed:1: not YAML"),
        ("training.seed=x", "--set: training.seed: expected a valid integer, got 'x'"),
        ("training.sede=1", "--set: training.sede: unknown key, did you mean seed?"),
        ("data.train.source=", "expected `source` and `target`, or `tsv` alone, got target"),
    ],
)
def test_a_wrong_override_is_one_line(write, override, said):
    with pytest.raises(RecipeError) as error:
        Recipe.read(write(TEXT), [override])
    assert said in str(error.value)
