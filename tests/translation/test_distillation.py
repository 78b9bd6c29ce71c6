"""A student learns from what its teacher says."""

import json

import pytest

from keraszoo import Translator
from keraszoo.cli import translator
from keraszoo.errors import KerasZooError, RecipeError
from keraszoo.recipes import runs
from keraszoo.search import SearchOptions
from keraszoo.translation.distillation import distil
from keraszoo.translation.recipe import Recipe
from keraszoo.translation.results import Translation


class Teacher:
    """Repeats a sentence in capitals, and fails at some."""

    search = SearchOptions(beam_width=4)

    def __init__(self):
        self.asked = []

    def translate_details(self, texts, **search):
        assert search["beam_width"] == 3
        self.asked += texts
        return [self.answer(text) for text in texts]

    def answer(self, text):
        said = {"blank": "", "same": "same"}.get(text, text.upper())
        tokens = [said, *([] if text == "endless" else ["</s>"])]
        return Translation(said, -1.0, tokens, [text, "</s>"], None, [], truncated=text == "long")


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.setattr("keraszoo.translation.distillation.CHUNK", 2)
    sources = "one", "two\u00a0 cats", "", "blank", "same", "one", "endless", "long", "three"
    (tmp_path / "train.tsv").write_text("".join(f"{source}\tx\n" for source in sources))
    data = {"train": {"tsv": str(tmp_path / "train.tsv")}}
    files = {"big": "manifest.json", "bigger": "model.bin", "marian": "model.safetensors"}
    for name, file in files.items():  # the second is for CTranslate2, the third as others publish it
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(name)
    monkeypatch.chdir(tmp_path)
    return Recipe.from_dict({"data": data, "output": str(tmp_path / "student")})


LINES = ["one\tONE", "two cats\tTWO CATS", "", "", "", "", "three\tTHREE"]


def test_a_student_learns_from_usable_translations(recipe, capsys):
    teacher = Teacher()
    with open(distil(recipe, teacher, "big", beam_width=3)) as file:
        assert file.read().splitlines() == LINES
    assert teacher.asked == ["one", "two cats", "blank", "same", "endless", "long", "three"]
    assert "the student learns from 3 translations; 4 are left out" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [3, 8, 25, 33])
def test_a_stopped_run_continues(recipe, kept):
    """Wherever the file ends, whole lines are kept and the others are translated again."""
    path = distil(recipe, Teacher(), "big", beam_width=3)
    with open(path, "r+b") as file:
        file.truncate(kept)
        file.seek(0)
        whole = file.read().count(b"\n")
    teacher = Teacher()
    distil(recipe, teacher, "big", beam_width=3)
    assert len(teacher.asked) == len(LINES) - whole
    with open(path) as file:
        assert file.read().splitlines() == LINES


def test_a_published_model_is_known_by_its_weights(recipe, tmp_path):
    distil(recipe, Teacher(), "marian", beam_width=3)
    teacher = Teacher()
    distil(recipe, teacher, "marian", beam_width=3)
    assert not teacher.asked
    (tmp_path / "marian" / "model.safetensors").write_text("other weights")
    with pytest.raises(RecipeError, match="its translations have another teacher, search or source"):
        distil(recipe, Teacher(), "marian", beam_width=3)


def test_translations_of_others_are_refused(recipe, tmp_path):
    distil(recipe, Teacher(), "big", beam_width=3)
    said = "its translations have another teacher, search or source"
    with pytest.raises(RecipeError, match=f"student.distilled: {said}"):
        distil(recipe, Teacher(), "bigger", beam_width=3)
    for file, content in (
        ("big/manifest.json", "trained further"),
        ("train.tsv", "two\tx\n"),
        ("train.tsv", "one\tx\n"),  # fewer
    ):
        before = (tmp_path / file).read_text()
        (tmp_path / file).write_text(content)
        with pytest.raises(RecipeError, match=said):
            distil(recipe, Teacher(), "big", beam_width=3)
        (tmp_path / file).write_text(before)
    note = tmp_path / "student.distilled" / "teacher.json"
    said = r"teacher.json: does not say which teacher translated 7 sources .*; delete .*student.distilled to"
    for content in ("{", None):
        note.write_text(content) if content else note.unlink()
        with pytest.raises(RecipeError, match=said):
            distil(recipe, Teacher(), "big", beam_width=3)
    (tmp_path / "train.tsv").write_text(" \tx\n")
    with pytest.raises(RecipeError, match="data.train: expected a source with a word in it, got none"):
        distil(recipe, Teacher(), "big")


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_command(run, trained_directory, train_pairs, tmp_path, monkeypatch):
    (tmp_path / "train.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in train_pairs[:20]))
    overrides = {"d_model": 8, "num_layers": 2, "num_decoder_layers": 1}
    values = {
        "data": {"train": {"tsv": "../train.tsv"}},
        "subwords": {"vocabulary_size": 40},
        "model": {"name": "transformer", "preset": "tiny", "overrides": overrides},
        "training": {"steps": 1},
        "output": "../student",
    }
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "recipe.yaml").write_text(json.dumps(values))
    monkeypatch.chdir(tmp_path)
    order, load = [], translator.load
    monkeypatch.setattr(runs, "make_devices", lambda recipe: order.append(recipe.training.strategy))
    monkeypatch.setattr(translator, "load", lambda *given: order.append("teacher") or load(*given))
    command = "distil", trained_directory, "--recipe", "recipes/recipe.yaml", "--beam-width", 1
    assert run(*command)[0] == 0
    assert order == [None, "teacher", None]  # a CPU can only be split before it computes; the run asks again
    sources = list(dict.fromkeys(a for a, _ in train_pairs[:20]))
    translations = Translator.from_preset(trained_directory).translate(sources, beam_width=1)
    lines = (tmp_path / "student.distilled" / "pairs.tsv").read_text().splitlines()
    for source, translation, line in zip(sources, translations, lines, strict=True):
        assert line in ("", f"{source}\t{translation}")
    assert sum(map(bool, lines)) > 15
    student = Translator.from_preset(tmp_path / "student").model
    assert (len(student.encoder_layers), len(student.decoder_layers)) == (2, 1)
    saved = (tmp_path / "student" / "config.json").read_text()
    assert "../student.distilled/pairs.tsv" in saved and str(tmp_path) not in saved


def test_a_run_is_checked_before_the_teacher_translates(recipe, both_subwords, tmp_path):
    (tmp_path / "joint.model").write_bytes(both_subwords[0].model_bytes)
    values, teacher = recipe.as_dict(), Teacher()
    student = {"name": "transformer", "preset": "tiny"}
    subwords = {"subwords": {"model": str(tmp_path / "joint.model")}}
    for changes, said in (
        ({"model": {**student, "start_from": "runs/none"}}, "runs/none"),
        ({"model": {**student, "overrides": {"num_heads": 3}}}, "must be a multiple of num_heads"),
        ({"data": {**values["data"], "validation": {"tsv": str(tmp_path / "lost.tsv")}}}, "lost.tsv"),
        ({"output": str(tmp_path / "big")}, "big is the teacher"),
    ):
        with pytest.raises(KerasZooError, match=said):
            distil(Recipe.from_dict({**values, **subwords, **changes}), teacher, "big", beam_width=3)
    (tmp_path / "student.checkpoints").mkdir()
    with pytest.raises(RecipeError, match="student belongs to a run without a teacher"):
        distil(recipe, teacher, "big")
    assert teacher.asked == []


def test_no_usable_translation_raises_an_error(recipe, tmp_path):
    (tmp_path / "train.tsv").write_text("same\tx\n")
    with pytest.raises(RecipeError, match="pairs.tsv: none of the 1 translations is usable"):
        distil(recipe, Teacher(), "big", beam_width=3)


def test_several_machines_are_refused_before_the_teacher_is_read(run, recipe, tmp_path):
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe.as_dict()))
    code, _, err = run(
        "distil", "none", "--recipe", tmp_path / "recipe.yaml", "--set", "training.strategy=workers"
    )
    assert code == 2 and "distil has one process" in err
