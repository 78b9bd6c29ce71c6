"""A recipe run: from text files to a directory that says what was done."""

import itertools
import json
import os
import signal

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError, RecipeError
from keraszoo.models import RNNSearch, Transformer
from keraszoo.recipes import runs
from keraszoo.recipes.runs import run_recipe
from keraszoo.shipping import cache
from keraszoo.text.subwords import Subwords
from keraszoo.training.callbacks import BetweenSteps
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.translation.recipe import Recipe
from keraszoo.translation.run import make_model, new_subwords, prepare

TWO_MODELS = "subwords.source_model", "subwords.target_model"
pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def files(tmp_path, train_pairs, test_pairs):
    for name, pairs in (("train", train_pairs[:150]), ("test", test_pairs[:6])):
        for side, language in enumerate(("en", "de")):
            (tmp_path / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    return tmp_path


@pytest.fixture
def make_recipe(files):
    """Writes a recipe and reads it."""

    def make(**sections):
        test = {"source": "test.en", "target": "test.de"}
        values = {
            "data": {"train": {"source": "train.en", "target": "train.de"}, "validation": test, "test": test},
            "subwords": {"vocabulary_size": 60},
            "model": {"name": "rnnsearch", "preset": "tiny", "overrides": {"units": 16, "embedding_dim": 16}},
            "training": {"batch_tokens": 512, "epochs": 2},
            "search": {"beam_width": 2, "max_length": 12},
            "output": "out/model",
            **sections,
        }
        (files / "recipe.yaml").write_text(json.dumps(values))
        return Recipe.read(files / "recipe.yaml")

    return make


def test_what_a_run_begins_with_decides_it(make_recipe, files, new_translator, both_subwords):
    digests = []
    for version in (1, 1, 2):
        if version == 2 or not digests:
            (files / "a.model").write_bytes(both_subwords[version - 1].model_bytes)
            new_translator(min_length=version).save_to_preset(files / "first")
        recipe = make_recipe(
            subwords={"source_model": "a.model", "target_model": "a.model"},
            model={"name": "rnnsearch", "preset": "tiny", "start_from": "first"},
        )
        digests.append(runs._contents(recipe))
    assert digests[0] == digests[1] and all(digests[0][key] != digests[2][key] for key in digests[0])
    assert set(digests[0]) == {f"content of {key}" for key in ("model.start_from", *TWO_MODELS)}


@pytest.mark.parametrize("key", ["data.train.source", "data.validation.target"])
def test_a_pipe_is_refused_before_anything_is_read(make_recipe, files, key):
    os.mkfifo(files / "pipe")
    make_recipe()
    with pytest.raises(RecipeError, match=f"{key}: expected a file, got a pipe or a device"):
        run_recipe(Recipe.read(files / "recipe.yaml", [f"{key}={files / 'pipe'}"]))


def test_the_subwords_of_a_translator_on_the_hub(make_recipe, new_translator, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    translator = new_translator()
    translator.save_to_preset(cache.hub_place("hf://user/model-v1.0"))  # as if it was fetched before
    recipe = make_recipe(subwords={"model": "hf://user/model-v1.0"})
    assert new_subwords(recipe) == (translator.source_subwords, translator.target_subwords)


def test_from_files_to_a_directory(make_recipe, files, test_pairs, capsys):
    translator = run_recipe(make_recipe(about={"licence": "cc0-1.0", "languages": ["en", "de"]}))
    assert "RNNSearch, " in capsys.readouterr().err
    again = Translator.from_preset(files / "out" / "model")
    sources, references = map(list, zip(*test_pairs[:6], strict=True))
    assert again.translate(sources) == translator.translate(sources)
    assert (again.search.beam_width, again.search.max_length) == (2, 12)
    assert again.model.get_config()["units"] == 16
    assert again.source_subwords == again.target_subwords and len(again.source_subwords) == 60
    assert len(again.metrics["training"]["val_bleu"]) == 2 and again.metrics["training"]["seconds"] > 0
    assert again.metrics["test"]["sentences"] == 6
    assert again.metrics["test"]["bleu"]["score"] == again.evaluate(sources, references).bleu.score
    assert again.recipe["data"]["train"]["source"] == "train.en"
    card = (files / "out" / "model" / "README.md").read_text()
    assert card.startswith("---\nlicense: cc0-1.0\nlanguage: [en, de]\n")
    written = [path for path in (files / "out" / "model").iterdir() if path.suffix in (".json", ".md")]
    assert str(files) not in "".join(path.read_text() for path in written)


def test_a_slow_precision_is_named_before_training(monkeypatch):
    monkeypatch.setattr(runs, "product_speed", lambda name, _: {"bfloat16": 5.0}.get(name, 70.0))
    with pytest.warns(UserWarning, match="bfloat16 is 14 times slower than float32 on this machine"):
        runs._warn_if_slow("mixed_bfloat16")
    runs._warn_if_slow("float32")
    runs._warn_if_slow("mixed_float16")


def test_brought_vocabularies_one_for_each_language(make_recipe, files, both_subwords):
    for side, subwords in zip(("source", "target"), both_subwords, strict=True):
        subwords.save(files / f"{side}.model")
    section = {"source_model": "source.model", "target_model": "target.model"}
    translator = run_recipe(make_recipe(subwords=section, training={"steps": 1, "epochs": 1}))
    assert (translator.source_subwords, translator.target_subwords) == both_subwords


@pytest.mark.slow
def test_trained_vocabularies_one_for_each_language(make_recipe):
    subwords = {"joint": False, "vocabulary_size": 40}
    translator = run_recipe(make_recipe(subwords=subwords, training={"steps": 1, "epochs": 1}))
    assert translator.source_subwords != translator.target_subwords
    assert translator.source_subwords.decode(translator.source_subwords.encode(["one two"])) == ["one two"]


def test_trained_vocabularies_one_for_each_language_want_two_embeddings(make_recipe):
    subwords = {"joint": False, "vocabulary_size": 40}
    model = {"name": "rnnsearch", "preset": "tiny", "overrides": {"share_embeddings": True}}
    with pytest.raises(KerasZooError, match="overrides: {share_embeddings: false}"):
        run_recipe(make_recipe(subwords=subwords, model=model, training={"steps": 1, "epochs": 1}))


def test_models_by_name_preset_and_overrides(make_recipe, both_subwords):
    recipe = make_recipe(model={"name": "transformer", "preset": "tiny", "overrides": {"dropout": 0.4}})
    model = make_model(recipe, both_subwords[0], both_subwords[0])
    assert isinstance(model, Transformer) and model.get_config()["dropout"] == 0.4
    other = make_model(make_recipe(), *both_subwords)
    assert isinstance(other, RNNSearch)
    assert (other.source_vocabulary_size, other.target_vocabulary_size) == (40, 44)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"name": "rnnsearch", "overrides": {"cell": "gro"}}, "model: "),
        ({"overrides": {"dropout": "much"}}, "model: "),
        ({"overrides": {"dropout": 1.5}}, "model: "),
        (
            {"name": "transformer", "overrides": {"num_heads": 3, "tie_embeddings": "target"}},
            "model: .*multiple of num_heads",
        ),
    ],
)
def test_a_model_that_there_is_not(make_recipe, both_subwords, model, said):
    with pytest.raises(RecipeError, match=said.replace("?", r"\?")):
        make_model(make_recipe(model=model), *both_subwords)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "train.de").unlink(), "train.de: cannot read: No such file"),
        (lambda f: (f / "train.de").write_text("eins\n"), "train.de"),
        (lambda f: (f / "train.en").write_bytes(b""), "train.en"),
        (lambda f: (f / "train.en").write_bytes(b"\x80\x81\x82\n" * 150), "train.en:1: not UTF-8"),
        (lambda f: (f / "test.en").write_text("one\n"), "test.en"),
        (
            lambda f: ((f / "train.en").write_text("one\n"), (f / "train.de").write_text("eins\n")),
            "vocabulary_size",
        ),
        (lambda f: ((f / "test.en").write_text("\n"), (f / "test.de").write_text("\n")), "pair"),
    ],
)
def test_bad_files_are_found_before_anything_is_written(make_recipe, files, spoil, said):
    recipe = make_recipe()
    spoil(files)
    with pytest.raises(KerasZooError, match=said):
        run_recipe(recipe)
    assert not (files / "out").exists()


def test_a_wrong_override_is_found_before_the_corpus_is_read(make_recipe, files):
    (files / "train.en").unlink()
    recipe = make_recipe(model={"overrides": {"dropuot": 0.1}})
    said = r"recipe.yaml:1: model.overrides.dropuot: unknown key, did you mean dropout\?"
    with pytest.raises(RecipeError, match=said):
        run_recipe(recipe)


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_and_one_that_is_over_says_so(make_recipe, files, monkeypatch, capsys):
    """Stopped in its second period by Ctrl-C; the texts of its vocabulary may then change."""
    changes = {"batch_tokens": 256, "epochs": 2, "steps_per_evaluation": 3, "steps": 7, "r_drop": 1.0}
    monkeypatch.setenv("PLACE", str(files))
    pairs = {"source": "${PLACE}/train.en", "target": "train.de"}
    same = {
        "data": {"train": pairs, "validation": {"source": "test.en", "target": "test.de"}},
        "subwords": {"vocabulary_size": 60},
        "search": {"beam_width": 1, "max_length": 3},
    }
    recipe = make_recipe(**same, training=changes)
    whole = run_recipe(recipe)
    assert sorted(os.listdir(files / "out" / "model.checkpoints")) == ["finished", "step-00000007"]
    assert (files / "out" / "model.history.png").read_bytes().startswith(b"\x89PNG")
    run_recipe(recipe)
    assert "this run is finished; delete" in capsys.readouterr().err
    other = make_recipe(**same, training={**changes, "batch_tokens": 512})
    with pytest.raises(RecipeError, match="recipe.training.batch_tokens was 256, is 512; .*another output"):
        run_recipe(other)
    override = {"name": "rnnsearch", "preset": "tiny", "overrides": {"units": 16, "embedding_dim": 8}}
    with pytest.raises(RecipeError, match=r"recipe.model.overrides was \[.*16.*\], is "):
        run_recipe(make_recipe(**same, training=changes, model=override))
    with monkeypatch.context() as patch, pytest.raises(RecipeError, match="differs: PLACE was '.*', is '.*'"):
        patch.setenv("PLACE", str(files.parent))  # the recipe is the same, the corpus is another one
        run_recipe(make_recipe(**same, training=changes))

    (files / "out" / "model").rename(files / "whole")  # without its model, it is made of the checkpoint again
    again = run_recipe(make_recipe(**same, training=changes))
    for ours, theirs in zip(again.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)

    (files / "out" / "model.checkpoints").rename(files / "over")
    begin = BetweenSteps.on_train_batch_begin

    def interrupted(self, batch, logs=None):
        if self.first + batch == 4:
            os.kill(os.getpid(), signal.SIGINT)
        begin(self, batch, logs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(BetweenSteps, "on_train_batch_begin", interrupted)
        patch.setattr("time.monotonic", lambda: next(seconds))
        seconds = itertools.count(step=1000.0)
        run_recipe(make_recipe(**same, training=changes))
    # Other words about it change nothing.
    recipe = make_recipe(**same, training=changes, about={"limits": "Many."})
    monkeypatch.setattr(Subwords, "train", None)  # the vocabularies are those of the checkpoint
    again = run_recipe(recipe)
    assert "resuming after step 4 of 7" in capsys.readouterr().err
    for ours, theirs in zip(again.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.metrics["training"]["seconds"] > 1000 > whole.metrics["training"]["seconds"]
    for key in ("loss", "val_bleu", "val_loss", "target_tokens", "steps"):
        assert again.metrics["training"][key] == whole.metrics["training"][key]


@pytest.mark.slow
def test_a_finished_run_goes_on_for_more_steps(make_recipe, files, capsys):
    optimizer = {"schedule": "constant", "learning_rate": 0.01}
    settings = {"batch_tokens": 512, "optimizer": optimizer, "steps_per_evaluation": 2, "epochs": 9}
    short = run_recipe(make_recipe(training={**settings, "steps": 2}))
    longer = run_recipe(make_recipe(training={**settings, "steps": 4}))
    assert "resuming after step 2 of 4" in capsys.readouterr().err
    whole = run_recipe(make_recipe(training={**settings, "steps": 4}, output="out/whole"))
    assert longer.metrics["training"]["loss"] == whole.metrics["training"]["loss"]
    assert longer.metrics["training"]["loss"][:1] == short.metrics["training"]["loss"]
    for ours, theirs in zip(longer.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "said"), [("train.en", "data.train was "), ("test.en", "data.validation was ")]
)
def test_a_corpus_that_changed_is_not_the_run_that_was_begun(make_recipe, files, monkeypatch, file, said):
    recipe = make_recipe(training={"steps": 2, "epochs": 2, "steps_per_evaluation": 1})

    class Stop(Exception):
        pass

    def stop(self, step):
        raise Stop

    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(
            BetweenSteps, "on_epoch_end", lambda self, epoch, logs: stop(self, 1) if self.first else None
        )
        patch.setattr(BetweenSteps, "rate", 0.0, raising=False)
        run_recipe(recipe)
    text = (files / file).read_text()
    (files / file).write_text(text.replace("one", "six"))
    with pytest.raises(RecipeError, match=said):
        run_recipe(recipe)


def test_sources_as_long_as_those_of_training_are_translated_whole(make_recipe, files):
    recipe = make_recipe(data={"train": {"source": "train.en", "target": "train.de"}, "max_length": 800})
    translator, *_ = prepare(recipe, Checkpoints(files / "none"))
    assert translator.max_source_tokens == 800
    unlimited = recipe.data.model_copy(update={"max_length": 10**6})
    translator, *_ = prepare(recipe.model_copy(update={"data": unlimited}), Checkpoints(files / "none"))
    assert translator.max_source_tokens == 100_000  # as many as a directory may say
    with pytest.raises(KerasZooError, match="max_source_tokens must be at most 100,000, got 100,001"):
        Translator(translator.model, translator.source_subwords, max_source_tokens=100_001)


def test_a_recipe_decides_vocabulary_and_lengths(make_recipe, files, monkeypatch):
    recipe = make_recipe(
        data={"train": {"source": "train.en", "target": "train.de"}, "max_length": 9},
        subwords={
            "type": "unigram",
            "vocabulary_size": 30,
            "character_coverage": 0.99,
            "normalization": "nmt_nfkc",
        },
    )
    given, train = [], Subwords.train
    monkeypatch.setattr(Subwords, "train", lambda text, **a: given.append(a) or train(text, **a))
    _, corpus, *_ = prepare(recipe, Checkpoints(files / "none"))
    trained = {"vocabulary_size": 30, "model_type": "unigram", "character_coverage": 0.99}
    assert given == [{**trained, "normalization": "nmt_nfkc"}]
    assert corpus.dropped["too_long"] > 0
    assert max(corpus.sources.lengths.max(), corpus.targets.lengths.max()) <= 9
