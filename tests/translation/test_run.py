"""A recipe run: from text files to a directory that says what was done."""

import itertools
import json
import os
import signal

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError, RecipeError
from keraszoo.models import RNNSearch
from keraszoo.recipes import runs
from keraszoo.recipes.runs import run_recipe
from keraszoo.shipping import cache
from keraszoo.text.subwords import Subwords
from keraszoo.training.callbacks import BetweenSteps
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.translation.recipe import Recipe
from keraszoo.translation.run import make_model, new_subwords, prepare

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def files(tmp_path, train_pairs, test_pairs):
    for name, pairs in (("train", train_pairs[:90]), ("test", test_pairs[:6])):
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
    for version in (1, 2):
        (files / "a.model").write_bytes(both_subwords[version - 1].model_bytes)
        new_translator(min_length=version).save_to_preset(files / "first")
        recipe = make_recipe(
            subwords={"source_model": "a.model", "target_model": "a.model"},
            model={"name": "rnnsearch", "preset": "tiny", "start_from": "first"},
        )
        digests.append(runs._contents(recipe))
        assert digests[-1] == runs._contents(recipe)
    names = "model.start_from", "subwords.source_model", "subwords.target_model"
    assert set(digests[0]) == {f"content of {name}" for name in names}
    assert all(digests[0][key] != digests[1][key] for key in digests[0])


def test_a_pipe_is_refused_before_anything_is_read(make_recipe, files):
    os.mkfifo(files / "pipe")
    make_recipe()
    for key in ("data.train.source", "data.validation.target"):
        with pytest.raises(RecipeError, match=f"{key}: expected a file, got a pipe or a device"):
            run_recipe(Recipe.read(files / "recipe.yaml", [f"{key}={files / 'pipe'}"]))


def test_vocabularies_of_a_translator_of_files_and_of_the_corpus(
    make_recipe, files, new_translator, both_subwords, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(files))
    new_translator().save_to_preset(cache.hub_place("hf://user/model-v1.0"))  # as if it was fetched before
    assert new_subwords(make_recipe(subwords={"model": "hf://user/model-v1.0"})) == both_subwords
    for side, subwords in zip(("source", "target"), both_subwords, strict=True):
        subwords.save(files / f"{side}.model")
    section = {"source_model": "source.model", "target_model": "target.model"}
    assert new_subwords(make_recipe(subwords=section)) == both_subwords
    apart = {"joint": False, "vocabulary_size": 40}
    source, target = new_subwords(make_recipe(subwords=apart))
    assert source != target and source.decode(source.encode(["one two"])) == ["one two"]


def test_a_run_writes_a_directory_that_says_what_was_done(make_recipe, files, test_pairs, capsys):
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


def test_a_model_by_its_name_has_the_sizes_of_both_vocabularies(make_recipe, both_subwords):
    model = make_model(make_recipe(), *both_subwords)
    assert isinstance(model, RNNSearch)
    assert (model.source_vocabulary_size, model.target_vocabulary_size) == (40, 44)


@pytest.mark.parametrize(
    "model", [{"name": "rnnsearch", "overrides": {"cell": "gro"}}, {"overrides": {"dropout": "much"}}]
)
def test_a_model_that_there_is_not(make_recipe, both_subwords, model):
    with pytest.raises(RecipeError, match="model: "):
        make_model(make_recipe(model=model), *both_subwords)


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"train.de": None}, "train.de: cannot read: No such file"),
        ({"train.de": b"eins\n"}, "train.de"),
        ({"test.en": b"one\n"}, "test.en"),
        ({"train.en": b"one\n", "train.de": b"eins\n"}, "vocabulary_size"),
        ({"test.en": b"\n", "test.de": b"\n"}, "pair"),
    ],
)
def test_bad_files_are_found_before_anything_is_written(make_recipe, files, contents, said):
    recipe = make_recipe()
    for name, content in contents.items():
        (files / name).unlink() if content is None else (files / name).write_bytes(content)
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
def test_a_stopped_run_resumes_and_a_finished_one_is_named(make_recipe, files, monkeypatch, capsys):
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
    np.testing.assert_equal(again.model.get_weights(), whole.model.get_weights())

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
    np.testing.assert_equal(again.model.get_weights(), whole.model.get_weights())
    assert again.metrics["training"]["seconds"] > 1000 > whole.metrics["training"]["seconds"]
    for key in ("loss", "val_bleu", "val_loss", "target_tokens", "steps"):
        assert again.metrics["training"][key] == whole.metrics["training"][key]


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
    subwords = {"type": "unigram", "vocabulary_size": 30, "character_coverage": 0.99}
    recipe = make_recipe(
        data={"train": {"source": "train.en", "target": "train.de"}, "max_length": 9},
        subwords={**subwords, "normalization": "nmt_nfkc"},
    )
    given, train = [], Subwords.train
    monkeypatch.setattr(Subwords, "train", lambda text, **a: given.append(a) or train(text, **a))
    _, corpus, *_ = prepare(recipe, Checkpoints(files / "none"))
    assert given[0].pop("model_type") == subwords.pop("type")
    assert given == [{**subwords, "normalization": "nmt_nfkc"}]
    assert corpus.dropped["too_long"] > 0
    assert max(corpus.sources.lengths.max(), corpus.targets.lengths.max()) <= 9
