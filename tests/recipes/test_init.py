"""A first recipe: the corpora of a folder are found by name, counted, and train."""

import gzip
import io
import json
import re
import shutil

import numpy as np
import pytest
import sentencepiece
from number_words import number_pairs

from keraszoo import EntityTagger, Translator
from keraszoo.errors import DataError, KerasZooError
from keraszoo.models import Transformer
from keraszoo.recipes.init import write_recipe
from keraszoo.recipes.nearest import nearest_translator
from keraszoo.recipes.runs import read_recipe, run_recipe
from keraszoo.shipping import shipped
from keraszoo.text.subwords import Subwords
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors

PAIRS = number_pairs(range(300))
ENGLISH = (
    "the of and is to you in it that was he for with have my not dog cat house big small red runs sees park "
    "water bread we they she him her this these here there now then very good bad old new day night man "
    "woman child tree street car book"
).split()
GERMAN_PAIRS = [
    (f"the dog is in the {place} and it was {size}", f"der Hund ist in der {place} und er war {size}")
    for place in ("park", "house", "street", "car", "tree")
    for size in ("big", "small", "red", "old", "new", "good", "bad", "here")
]


def write_pairs(folder, name, pairs, ending="", languages=("en", "de")):
    for language, side in zip(languages, zip(*pairs, strict=True), strict=True):
        with (gzip.open if ending else open)(folder / f"{name}.{language}{ending}", "wt") as file:
            file.writelines(f"{text}\n" for text in side)


def made(task, folder, *languages):
    """The recipe that is written for a folder, and the report of its corpora."""
    path = folder / "recipe.yaml"
    path.unlink(missing_ok=True)
    report = write_recipe(task, folder, path, *languages)
    return read_recipe(path), report


def test_parallel_files_make_a_recipe(tmp_path):
    write_pairs(tmp_path, "train", [*PAIRS[:280], PAIRS[0]], ".gz")
    write_pairs(tmp_path, "val", PAIRS[278:290])
    write_pairs(tmp_path, "test_2016", PAIRS[285:])
    write_pairs(tmp_path, "test_2017", PAIRS)
    (tmp_path / "notes.md").write_text("no corpus")
    (tmp_path / "logo.tsv").write_bytes(b"\0\1")
    (tmp_path / "recipes").mkdir()
    report = write_recipe("translation", tmp_path, tmp_path / "recipes" / "first.yaml")
    words = [sum(len(text.split()) for text in side) for side in zip(*PAIRS[285:], strict=True)]
    assert f" {words[0]} and {words[1]} words, " in report[2]
    assert [re.sub(r"\d+ and \d+ words, ", "", line) for line in report] == [
        "train       281 pairs, 1 repeated sentences",
        "validation  12 pairs, 0 repeated sentences, 2 also in train",
        "test        15 pairs, 0 repeated sentences, 5 also in validation",
        "not used    test_2017",
    ]
    recipe = read_recipe(tmp_path / "recipes" / "first.yaml")
    assert recipe.path(recipe.data.train.source) == str(tmp_path / "train.en.gz")
    assert recipe.path(recipe.data.test.target) == str(tmp_path / "test_2016.de")
    assert recipe.training.patience == 5


@pytest.fixture(scope="module")
def saved_models(tmp_path_factory):
    """Included models: two translators from English, vectors, and taggers of them and of others."""
    places, words = tmp_path_factory.mktemp("models"), sorted({*ENGLISH, *"Ada met Bo in Oslo".split()})
    subwords = Subwords.train([pair for pair in GERMAN_PAIRS for pair in pair], 60)
    french = Subwords.train([pair[0] for pair in GERMAN_PAIRS] + ["et le chat où ça"] * 50, 60)
    sizes = {"d_model": 8, "num_layers": 1, "num_decoder_layers": 2, "num_heads": 2, "intermediate_dim": 8}
    for name, vocabulary in {"en_de": subwords, "en_fr": french}.items():
        translator = Translator(Transformer(60, dropout=0.2, **sizes), vocabulary)
        translator.about = {"languages": name.split("_")}
        translator.save_to_preset(places / name)
    vectors = WordVectors(words, np.ones((len(words), 6)))
    vectors.save(places / "words")
    sentence = TaggedSentence(("Ada", "met", "Bo"), ("B-P", "O", "B-P"))
    for name, kept in {"tagger": vectors, "other": WordVectors(["x", "Ada"], np.ones((2, 6)))}.items():
        tagger = EntityTagger.for_sentences([sentence], kept, configuration="tiny", keep="all", casing_dim=4)
        tagger.save_to_preset(places / name)
    return places


@pytest.fixture
def small_models(saved_models, tmp_path_factory, monkeypatch):
    places = shutil.copytree(saved_models, tmp_path_factory.mktemp("included") / "models")
    monkeypatch.setattr(shipped, "places", lambda: {path.name: path for path in sorted(places.iterdir())})
    return places


def test_few_pairs_begin_with_the_nearest_model(tmp_path, small_models):
    write_pairs(tmp_path, "train", GERMAN_PAIRS)
    recipe, _ = made("translation", tmp_path)
    text = (tmp_path / "recipe.yaml").read_text()
    assert (recipe.model.start_from, recipe.subwords.model) == ("en_de", "en_de")
    assert recipe.model.name == "transformer" and recipe.model.overrides["num_decoder_layers"] == 2
    assert "pairs are few to learn from nothing" in text and "updates an epoch" in text
    assert 256 == recipe.training.batch_tokens and "its products have" in text
    other = [(source, target.replace("e", "é").replace("n", "ñ")) for source, target in GERMAN_PAIRS]
    (tmp_path / "new").mkdir()
    write_pairs(tmp_path / "new", "train", other)
    recipe, _ = made("translation", tmp_path / "new")
    assert recipe.subwords.model is None and recipe.model.start_from in ("en_de", "en_fr")
    assert "does not know" in (tmp_path / "new" / "recipe.yaml").read_text()


def test_unknown_subwords_are_those_of_each_language(tmp_path, monkeypatch):
    sources, targets = zip(*GERMAN_PAIRS, strict=True)
    file, ids = io.BytesIO(), {"unk_id": 5, "pad_id": 0, "bos_id": 1, "eos_id": 3}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(targets), model_writer=file, vocab_size=30, minloglevel=2, **ids
    )
    sides = [Subwords.train(sources, 30), Subwords(file.getvalue())]
    assert [side.unknown_id for side in sides] != [5, 5]
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
    model = Transformer(30, target_vocabulary_size=30, tie_embeddings="target", **sizes)
    translator = Translator(model, *sides)
    translator.about = {"languages": ["en", "de"]}
    translator.save_to_preset(tmp_path / "en_de")
    monkeypatch.setattr(shipped, "places", lambda: {"en_de": tmp_path / "en_de"})
    pairs = [(source, f"{target} ñ") for source, target in GERMAN_PAIRS]
    _, _, share = nearest_translator(pairs)
    pieces = [side.encode(texts) for side, texts in zip(sides, zip(*pairs, strict=True), strict=True)]
    assert share == len(pairs) / sum(len(row) for rows in pieces for row in rows)
    translator.model.quantize("int8")  # nothing can begin with it
    translator.save_to_preset(tmp_path / "en_de")
    assert nearest_translator(pairs) is None


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_the_recipe_that_begins_with_a_model_trains_and_copies_all_of_it(tmp_path, small_models, capsys):
    write_pairs(tmp_path, "train", GERMAN_PAIRS)
    write_recipe("translation", tmp_path, tmp_path / "recipe.yaml")
    short = ["training.steps=1", "training.precision=float32"]
    translator = run_recipe(read_recipe(tmp_path / "recipe.yaml", short))
    said = capsys.readouterr().err
    copied = f"{translator.model.count_params():,} of them copied from {small_models / 'en_de'}"
    assert copied in said and "left out (" not in said
    short += ["model.overrides.num_decoder_layers=1", "output=smaller"]
    run_recipe(read_recipe(tmp_path / "recipe.yaml", [*short, f"output={tmp_path}/smaller"]))
    assert "parameters are left out (decoder" in capsys.readouterr().err


def test_a_tagger_begins_with_the_vectors_and_the_encoder_that_know_its_words(tmp_path, small_models):
    rows = [f"{word}\tO\n" for word in ENGLISH] + ["Ada\tB-PER\n"]
    (tmp_path / "train.conll").write_text("\n".join("".join(rows[i : i + 5]) for i in range(0, len(rows), 5)))
    recipe, _ = made("tagging", tmp_path)
    assert (recipe.vectors.file, recipe.vectors.keep) == ("words", "all")
    assert recipe.model.start_from == "tagger" and recipe.model.preset == "tiny"
    assert recipe.model.overrides == {"casing_dim": 4} and recipe.training.batch_tokens == 128
    assert "100% of the words of this text have a vector" in (tmp_path / "recipe.yaml").read_text()
    for name in ("tagger", "other"):
        shutil.rmtree(small_models / name)
    recipe, _ = made("tagging", tmp_path)
    assert (recipe.vectors.keep, recipe.model.start_from) == ("all", None)
    assert recipe.model.overrides == {"int8_vectors": True}
    (tmp_path / "other").mkdir()
    rows = "".join(f"{word}zz\tO\n" for word in ENGLISH) + "Ada\tB-P\n"
    (tmp_path / "other" / "train.conll").write_text(rows)
    recipe, _ = made("tagging", tmp_path / "other")
    assert recipe.vectors is None and recipe.model.start_from is None


def test_pairs_that_teach_nothing_are_reported(tmp_path):
    faults = [("", "Es regnet."), ("a " * 150, "b " * 150), ("Oslo Rome", "Oslo Rome"), ("a &amp; b", "c")]
    write_pairs(tmp_path, "train", [*PAIRS, *faults])
    _, report = made("translation", tmp_path)
    assert report[1].startswith("problems    ") and "`keraszoo pairs`" in report[2]
    for count in ("1 blank", "1 copied", "1 HTML entities", "1 long"):
        assert count in report[1]


def test_files_that_are_named_by_languages(tmp_path):
    for names in (
        ("english.txt", "french.txt"),
        ("train_English.txt", "train_German.txt.gz"),
        ("en.txt", "de.txt"),
    ):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name, side in zip(names, zip(*PAIRS, strict=True), strict=True):
            with (gzip.open if name.endswith("gz") else open)(folder / name, "wt") as file:
                file.writelines(f"{text}\n" for text in side)
        train = made("translation", folder)[0].data.train
        assert (train.source, train.target) == names


def test_repairs_of_readers_are_reported_for_each_corpus(tmp_path):
    text = "\U0001f600 " * 3 + "Ada Lovelace met Bo."
    entity = {"start": 9, "end": 21, "label": "PER"}  # UTF-16 units: it should be 6 to 18
    (tmp_path / "train.jsonl").write_text((json.dumps({"text": text, "entities": [entity]}) + "\n") * 3)
    (tmp_path / "dev.conll").write_text("Ed I-PER\nran O\n\nBo B-PER\n\nAda B-PER\n")
    _, report = made("tagging", tmp_path)
    train, validation = ([line for line in report if line.startswith(role)][0] for role in ("train", "val"))
    assert "3 entities widened to whole tokens, so `start` and `end` may not count characters" in train
    assert "1 invalid tags repaired" in validation


def test_comments_and_labels_without_letters(tmp_path):
    (tmp_path / "train.conll").write_text("# id 1\tdomain=en\n" + "Ed person-actor\nran O\nso O\n\n" * 3)
    recipe, report = made("tagging", tmp_path)
    assert recipe.data.scheme == "plain"
    assert report[2] == "labels      person-actor 3"


def test_more_characters_than_the_usual_vocabulary(tmp_path):
    rare = [chr(0x4E00 + i) for i in range(9000)]
    pairs = [("a b", "".join(rare[i : i + 10])) for i in range(0, 9000, 10)]
    write_pairs(tmp_path, "train", 4 * pairs)
    assert made("translation", tmp_path)[0].subwords.vocabulary_size == 16_000


def test_columns_make_a_recipe(tmp_path):
    sentence = "1\tEd\tNNP\tI-PER\n2\tKoch\tNNP\tI-PER\n3\tRome\tNNP\tI-LOC\n4\tran\tVB\tO\n\n"
    (tmp_path / "eng.train").write_text("-DOCSTART-\tx\tx\tO\n\n" + 30 * sentence)
    (tmp_path / "eng.testa").write_text(sentence.replace("Koch", "Smith"))
    (tmp_path / "eng.testb").write_text(sentence)
    (tmp_path / "README.txt").write_text("Columns of a task\nand their tags\n")
    recipe, report = made("tagging", tmp_path)
    assert report == [
        "columns     tokens in column 1 ('Koch'), tags in column 3 of 4",
        "tag scheme  IO, 0 invalid tags repaired",
        "labels      PER 30, LOC 30",
        "train       30 sentences, 120 tokens, 60 entities, 29 repeated sentences",
        "validation  1 sentences, 4 tokens, 2 entities, 0 repeated sentences",
        "test        1 sentences, 4 tokens, 2 entities, 0 repeated sentences, 1 also in train",
    ]
    assert (recipe.data.token_column, recipe.data.tag_column) == (1, -1)


def test_a_first_row_of_names_and_json_lines(tmp_path):
    (tmp_path / "corpus.csv").write_text("Word\tTag\tPOS\n" + 3 * "Ed\tB-PER\tNN\nran\tO\tVB\n\n")
    data = made("tagging", tmp_path)[0].data
    assert (data.token_column, data.tag_column, data.validation) == ("Word", "Tag", None)
    (tmp_path / "train.jsonl").write_text('{"text": "Ed ran.", "entities": []}\n')
    recipe, report = made("tagging", tmp_path)
    assert recipe.data.train == ["train.jsonl"]
    assert report[-1] == "not used    corpus.csv"


def test_files_in_more_than_two_languages_need_a_choice(tmp_path):
    write_pairs(tmp_path, "train", PAIRS)
    with pytest.raises(KerasZooError, match="--languages en-fr: expected two of de, en, as the files"):
        made("translation", tmp_path, ("en", "fr"))
    for name in ("val", "train"):
        for languages in (("en", "de"), ("en", "fr")):
            write_pairs(tmp_path, name, PAIRS, languages=languages)
        with pytest.raises(KerasZooError, match=f"{name}: there is en, de, fr; choose two, such as --lang"):
            made("translation", tmp_path)
    data = made("translation", tmp_path, ("fr", "en"))[0].data
    assert (data.train.source, data.validation.target) == ("train.fr", "val.en")
    (tmp_path / "train.en.gz").write_bytes(b"")
    with pytest.raises(KerasZooError, match="has train.en and train.en.gz; remove one of them"):
        made("translation", tmp_path)


def test_a_table_has_no_languages(tmp_path):
    (tmp_path / "über uns.tsv").write_text("".join(f"{a}\t{b}\tCC0\n" for a, b in PAIRS))
    with pytest.raises(KerasZooError, match="--languages has no effect with über uns.tsv; leave it out"):
        made("translation", tmp_path, ("de", "en"))
    recipe, _ = made("translation", tmp_path)
    assert recipe.path(recipe.data.train.tsv) == str(tmp_path / "über uns.tsv")
    assert recipe.training.patience is None and recipe.subwords.vocabulary_size == 500


@pytest.mark.parametrize(
    ("task", "folder", "path", "said"),
    [
        ("translation", ".", "r.yaml", "expected files such as train.en and train.de.*, got old.yaml"),
        ("tagging", ".", "r.yaml", "expected files such as train.conll, got old.yaml"),
        ("tagging", "nowhere", "r.yaml", "nowhere: there is no such folder"),
        ("tagging", ".", "old.yaml", "old.yaml: exists already and is not overwritten"),
    ],
)
def test_nothing_to_start_from(tmp_path, task, folder, path, said):
    (tmp_path / "old.yaml").write_text("a: 1\n")
    with pytest.raises(KerasZooError, match=said):
        write_recipe(task, tmp_path / folder, tmp_path / path)
    assert [file.name for file in tmp_path.iterdir()] == ["old.yaml"]


def test_a_table_is_no_language_and_a_name_no_number(tmp_path):
    (tmp_path / "train.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    (tmp_path / "train.txt").write_text("".join(f"{a}\n" for a, _ in PAIRS))
    assert made("translation", tmp_path)[0].data.train.tsv == "train.tsv"
    folder = tmp_path / "tagged"
    folder.mkdir()
    (folder / "2003").write_text(30 * "Ed\tB-PER\nran\tO\n\n")
    assert made("tagging", folder)[0].data.train == ["2003"]


def test_files_that_cannot_be_read_are_named(tmp_path):
    # A held-out file is listed as not used; of a training file, the error of its reader is shown.
    (tmp_path / "train.conll").write_text(3 * "Ed\tB-PER\nran\tO\n\n")
    (tmp_path / "dev.conll").write_bytes(b"Andr\xe9 B-PER\nran O\n\n")
    assert made("tagging", tmp_path)[1][-1] == "not used    dev.conll"
    (tmp_path / "train.conll").write_bytes(b"Andr\xe9 B-PER\nran O\n\n")
    with pytest.raises(DataError, match="train.conll:1: .*UTF-8"):
        made("tagging", tmp_path)
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "train.tsv").write_text("one\teins\ntwo zwei\n")
    with pytest.raises(DataError, match="train.tsv:2: "):
        made("translation", tmp_path / "pairs")


def test_a_no_break_space_does_not_separate_columns(tmp_path):
    (tmp_path / "train.conll").write_text("I\u00a0am B-PER\nhere O\n\nParis  B-LOC\n")
    _, report = made("tagging", tmp_path)
    assert report[0] == "columns     tokens in column 0 ('here'), tags in column 1 of 2"
    assert "2 sentences, 3 tokens, 2 entities" in report[-1]
