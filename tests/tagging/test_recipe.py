"""Recipes of taggers: what they need, what they refuse, and which kind a file is."""

import pytest

from keraszoo import EntityTagger
from keraszoo.errors import RecipeError
from keraszoo.models import RecurrentTagger
from keraszoo.recipes.runs import read_recipe
from keraszoo.registry import MODELS, model_classes, models_of
from keraszoo.shipping import shipped
from keraszoo.tagging.recipe import TaggerRecipe
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.translation.recipe import Recipe

LEAST = {"task": "tagging", "data": {"train": "train.tsv"}, "output": "runs/model"}


def checked(**sections):
    return TaggerRecipe.from_dict({**LEAST, **sections})


def test_defaults():
    recipe = checked()
    optimizer = recipe.training.optimizer
    assert (optimizer.schedule, optimizer.learning_rate, optimizer.beta_2) == ("constant", 0.001, 0.999)
    assert (recipe.training.monitor, recipe.training.batch_tokens) == ("val_f1", 1024)
    assert recipe.vectors is None and recipe.tags.scheme == "IOB2" and recipe.model.name == "recurrent"


@pytest.mark.parametrize(
    ("options", "rates", "epochs"),
    [
        ({}, (1e-4, 1e-3), 5),
        ({"lora_rank": 8}, (1e-3, 1e-3), 5),
        ({"overrides": {"train_backbone": False}}, (1e-2, None), 10),  # a rate of the user reaches the head
    ],
)
def test_defaults_of_fine_tuning(options, rates, epochs):
    model = {"name": "pretrained", "backbone": "hf://user/bert", **options}
    training = checked(model=model, training={"optimizer": {"weight_decay": 0.1}}).training
    optimizer = training.optimizer
    assert (training.epochs, optimizer.schedule, optimizer.weight_decay) == (epochs, "cosine", 0.1)
    assert (optimizer.learning_rate, optimizer.head_learning_rate) == rates
    for training in ({}, {"optimizer": {"clipnorm": 0.5}}):
        recipe = checked(model=model, training=training)
        assert recipe.training.optimizer.global_clipnorm == (None if training else 1.0)
        assert TaggerRecipe.from_dict(recipe.as_dict()) == recipe


PRETRAINED = {"name": "pretrained", "backbone": "b"}
FROZEN = {**PRETRAINED, "overrides": {"train_backbone": False}, "lora_rank": 8}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"model": {"name": "rnnsearch"}}, "model.name: expected 'attention', 'recurrent', 'transformer' or"),
        ({"data": {"train": []}}, "data.train: Value should have at least 1 item"),
        ({"data": {"train": "a", "scheme": "BIO"}}, "data.scheme: expected 'IO', 'IOB1'"),
        ({"vectors": {"file": "v", "backoff": ["lowest"]}}, "expected a list of different names of exact"),
        ({"training": {"patience": 3}}, "`training.patience` needs `data.validation`, which is missing"),
        ({"training": {"label_smoothing": 0.1}}, "training.label_smoothing: unknown key"),
        ({"training": {"optimizer": {"schedule": "transformer"}}}, "d_model, which recurrent does not have"),
        ({"model": {"name": "pretrained"}}, "`backbone` is missing"),
        ({"model": {"backbone": "b"}}, "`backbone` has no effect with recurrent"),
        ({"model": FROZEN}, "`lora_rank` has no effect with train_backbone: false; leave it out"),
        ({"model": PRETRAINED, "vectors": {"file": "v"}}, "`vectors` have no effect"),
        ({"tags": {"scheme": "IOB1"}}, "tags.scheme: expected 'IOB2' or 'BIOES'"),
    ],
)
def test_invalid_sections_raise_errors_of_one_line(sections, said):
    with pytest.raises(RecipeError) as raised:
        checked(**sections)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_each_model_has_a_preset_that_it_is_made_of_if_none_is_named():
    models = [{"name": name} for name in models_of("tagging") if name != "pretrained"]
    models.append({"name": "pretrained", "backbone": "bert"})
    names = {model["name"]: checked(model=model).model.preset for model in models}
    assert names == {"attention": "base", "recurrent": "strong", "transformer": "small", "pretrained": "base"}
    made = EntityTagger.for_sentences([TaggedSentence(("Oslo",), ("B-LOC",))], model="recurrent")
    strong = RecurrentTagger.configurations["strong"]
    assert strong.items() <= made.model.get_config().items()
    for row in MODELS:
        assert row.preset is None or row.preset in model_classes(row.task)[row.name].configurations


def test_the_task_says_which_kind(tmp_path):
    file = tmp_path / "recipe.yaml"
    file.write_text("task: tagging\ndata: {train: a.tsv}\noutput: out\n")
    recipe = read_recipe(file, ["training.seed=3"])
    assert isinstance(recipe, TaggerRecipe) and recipe.training.seed == 3
    assert list(map(recipe.path, recipe.data.train)) == [str(tmp_path / "a.tsv")]
    file.write_text("data: {train: {tsv: a.tsv}}\noutput: out\n")
    assert isinstance(read_recipe(file), Recipe)
    assert isinstance(read_recipe(file, ["task=translation"]), Recipe)
    file.write_text("data: {train: a.tsv}\ntask: taging\noutput: out\n")
    with pytest.raises(RecipeError, match="recipe.yaml:2: task: there is no 'taging', did you mean tagging?"):
        read_recipe(file)


def test_a_taggers_recipe_without_its_task_is_one_complaint(tmp_path):
    file = tmp_path / "recipe.yaml"
    for text in (
        "data: {train: t.tsv, validation: v.tsv}\nvectors: {file: v.bin}\nmodel: {name: recurrent}",
        "data: {train: [a.tsv, b.tsv]}",
        "data: 3\ntags: {scheme: BIOES}",
    ):
        file.write_text(f"{text}\noutput: out\n")
        with pytest.raises(RecipeError) as raised:
            read_recipe(file)
        assert "recipe.yaml: task: missing; the recipe of a tagger says `task: tagging`" in str(raised.value)
        assert "; " not in str(raised.value).split("missing; ")[1]


def test_vectors_are_a_path_or_a_name(tmp_path, monkeypatch):
    file = tmp_path / "recipe.yaml"
    file.write_text("task: tagging\ndata: {train: a.tsv}\nvectors: {file: '${VECTORS}'}\noutput: out\n")
    monkeypatch.chdir(tmp_path)
    for folder in ("english_words", "mine"):  # the first is another thing than the included vectors
        (tmp_path / folder).mkdir()
    for given, place in {
        "no_such_words": "no_such_words",
        "words.bin": str(tmp_path / "words.bin"),
        "./english_words": str(tmp_path / "english_words"),
        "english_words": str(shipped.places()["english_words"]),
        "mine": str(tmp_path / "mine"),
    }.items():
        monkeypatch.setenv("VECTORS", given)
        recipe = read_recipe(file)
        assert recipe.preset(recipe.vectors.file) == place
        assert recipe.as_dict()["vectors"]["file"] == "${VECTORS}"
