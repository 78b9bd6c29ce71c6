"""The script for the Tatoeba corpus, on a small one of our own."""

import gzip
import json
import re
from types import SimpleNamespace

import pytest
import tatoeba
import tatoeba_more

from keraszoo import Translator
from keraszoo.errors import DataError
from keraszoo.evaluation.translation import score_translations
from keraszoo.text.parallel import read_pairs


@pytest.fixture
def corpus(tmp_path):
    lines = [f"Sentence {i}.\tSatz {i}, {k}.\tCC-BY 2.0\n" for i in range(40) for k in range(1 + i % 3)]
    path = tmp_path / "en-de.tsv.gz"
    path.write_bytes(gzip.compress("".join([*lines, *lines[:3], "Sentence 0!\tSatz 0, 0!\n"]).encode()))
    return path


def test_one_pair_of_each_sentence_whatever_the_order():
    forms = [(i, k, f"{'Ss'[k % 2]}entence {i}{'.!?'[k]}") for i in range(60) for k in range(1 + i % 3)]
    pairs = [(source, f"Satz {i}, {k}") for i, k, source in forms]
    some = tatoeba.one_of_each(pairs)
    assert len(some) == 60 and set(some) <= set(pairs)
    assert set(tatoeba.one_of_each(pairs[::-1])) == set(some)
    assert {target[-1] for _, target in some} == {"0", "1", "2"}  # not always the first


def parts_in(folder):
    return [list(read_pairs(folder / name)) for name in tatoeba.FILES]


def test_four_files(corpus, tmp_path, capsys):
    tatoeba.prepare(corpus, tmp_path / "out", held_out=5)
    train, validation, test, references = parts_in(tmp_path / "out")
    assert len(validation) == len(test) == 5 and set(test) <= set(references)
    english = [{source for source, _ in part} for part in (train, validation, references)]
    assert sum(map(len, english)) == len(set.union(*english)) == 40
    said = capsys.readouterr().out
    assert "3 duplicate, 1 near duplicate, 83 pairs in all" in said and "test.tsv: 5 pairs" in said
    before = (tmp_path / "out" / "test.tsv").read_bytes()
    tatoeba.prepare(corpus, tmp_path / "out", held_out=5)
    assert (tmp_path / "out" / "test.tsv").read_bytes() == before


def test_the_other_direction_has_no_sentence_that_was_trained_on(tmp_path):
    folder = tmp_path / "en-de"
    folder.mkdir()
    parts = (
        [("Hi.", "Hallo!"), ("Hello.", "Hallo."), ("Run!", "Lauf!")],
        [("Good day.", "Hallo."), ("Wait.", "Warte!"), ("Stop!", "Halt!")],
        [("Halt!", "Halt!"), ("Sprint!", "Lauf!"), ("Walk.", "Geh!"), ("Go.", "Geh.")],
        [("Halt!", "Halt!"), ("Halt!", "Stopp!"), ("Walk.", "Geh!"), ("Go.", "Geh."), ("Sprint!", "Lauf!")],
    )
    tatoeba.write(parts, folder)
    tatoeba.reverse(folder, tmp_path / "de-en")
    train, validation, test, references = parts_in(tmp_path / "de-en")
    assert train == [("Hallo!", "Hi."), ("Hallo.", "Hello."), ("Lauf!", "Run!")]
    assert validation == [("Warte!", "Wait.")]  # "Halt!" is a test sentence
    assert ("Halt!", "Halt!") in test and len(test) == 2 and test[1][1] in ("Walk.", "Go.")
    assert references == [("Halt!", "Halt!"), ("Stopp!", "Halt!"), ("Geh!", "Walk."), ("Geh.", "Go.")]


def test_nobodys_files_are_replaced(corpus, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    with pytest.raises(DataError, match=r"thesis.tex"):
        tatoeba.prepare(corpus, tmp_path / "out", held_out=5)
    with pytest.raises(DataError, match="cannot hold out 40 of 40"):
        tatoeba.prepare(corpus, tmp_path / "new", held_out=20)
    assert not (tmp_path / "new").exists()


def test_missing_references_are_the_first_again_and_change_nothing():
    sources, first = ["A b c d.", "E f g h."], ["a b c d e", "e f g h i"]
    every = {"a b c d": ["a b c d e", "x b c d e", "a y c d e"], "e f g h": ["e f g h i"]}
    streams = tatoeba.reference_streams(sources, first, every)
    assert streams == [first, ["x b c d e", "e f g h i"], ["a y c d e", "e f g h i"]]
    translations = ["x b c d e", "e f g h i"]
    assert score_translations(translations, streams).bleu.score == pytest.approx(100)
    assert score_translations(translations, first).bleu.score < 100


def test_names_and_numbers_that_come_back_are_counted(tmp_path, monkeypatch, capsys):
    forgetful = SimpleNamespace(translate=lambda texts: [text.replace("Ada", "Eva") for text in texts])
    monkeypatch.setattr(Translator, "from_preset", lambda name: forgetful)
    names = tmp_path / "names.txt"
    names.write_text("".join(f"{name}{i}\n" for name in ("Ada", "Eva") for i in range(50)))
    tatoeba.copies("model", names)
    of_names, of_numbers = capsys.readouterr().out.splitlines()
    assert of_names.startswith("names.txt: 50 of 100 ('") and of_numbers.startswith("numbers: 100 of 100")
    tatoeba.copies("model", names, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"names": "50 of 100", "numbers": "100 of 100"}


def test_scores_as_json_have_both_kinds_of_references(tmp_path, monkeypatch, capsys):
    pairs = {"test.tsv": "One cat.\tEine kleine Katze.\nTwo big dogs.\tZwei grosse Hunde.\n"}
    pairs["test_references.tsv"] = pairs["test.tsv"] + "Two big dogs.\tZwei dicke Hunde laufen.\n"
    for name, text in pairs.items():
        (tmp_path / name).write_text(text)
    answers = ["Eine kleine Katze.", "Zwei dicke Hunde laufen."]
    translator = SimpleNamespace(translate=lambda sources: answers)
    monkeypatch.setattr(Translator, "from_preset", lambda name: translator)
    tatoeba.score("model", tmp_path, as_json=True)
    figures = json.loads(capsys.readouterr().out)
    assert figures["sentences"] == 2 and figures["bleu"]["score"] < 90
    assert figures["bleu_all_references"]["score"] == pytest.approx(100)
    assert figures["bleu_all_references"]["signature"].startswith("nrefs:2|")


def test_more_pairs_have_other_names_and_numbers_on_both_sides(tmp_path):
    folder, names, pairs = tmp_path / "en-de", tmp_path / "names.txt", tmp_path / "back.tsv"
    folder.mkdir()
    parts = [
        [("Tom's dog is 12.", "Toms Hund ist 12."), ("I met Mary and Tom.", "Ich traf Maria und Tom.")],
        [("Wait.", "Warte!")],
        [("Ada wins 500.", "Ada gewinnt 500.")],
        [("Ada wins 500.", "Ada gewinnt 500.")],
    ]
    tatoeba.write(parts, folder)
    pairs.write_text("wait\u200b!\tWarte.\nCome at 10:30.\tKomm um 10:30.\nTwo of 20.\tZwei von 20.\n")
    names.write_text("".join(f"Na{a}{b}\n" for a in "abcdefghijkl" for b in "mnopqrtuvwy"))
    tatoeba_more.enlarge(folder, tmp_path / "more", [pairs], [names])
    train, *held_out = parts_in(tmp_path / "more")
    assert held_out == parts[1:]
    assert train[:4] == [*parts[0], ("Come at 10:30.", "Komm um 10:30."), ("Two of 20.", "Zwei von 20.")]
    dog, met, *numbers = train[4:]
    (of_dog,) = re.fullmatch(r"(Na\w\w)'s dog is 12\.", dog[0]).groups()
    assert dog[1] == f"{of_dog}s Hund ist 12."
    two = re.fullmatch(r"I met (Na\w\w) and (Na\w\w)\.", met[0]).groups()
    assert met[1] == "Ich traf {} und {}.".format(*two)
    assert not {of_dog, *two} & set(tatoeba.tested_words([names])["names.txt"][1])
    changed = [re.findall(r"\d+", side) for pair in numbers for side in pair]
    assert changed[::2] == changed[1::2]
    assert len(numbers) > 4
    assert not set(numbers) & set(train[:4])


def drawn(others, *pair):
    """All pairs with other names that are drawn for a pair."""
    return {others.names(pair) for _ in range(40)}


def test_a_name_that_hisses_has_no_genitive_s():
    others = tatoeba_more.OtherWords([["Max", "Ada"]])
    assert drawn(others, "Tom's dog", "Toms Hund") == {("Tom's dog", "Toms Hund"), ("Ada's dog", "Adas Hund")}
    assert ("Max ran", "Max lief") in drawn(others, "Tom ran", "Tom lief")
    assert drawn(others, "Tom ran", "Er lief") == {("Tom ran", "Er lief")}


def test_french_shortens_de_and_que_before_a_vowel():
    others = tatoeba_more.OtherWords([["Zoé", "Ada"]], language="fr")
    assert drawn(others, "I know that Mary saw Tom.", "Je sais que Marie a vu Tom.") == {
        (f"I know that {mary} saw {tom}.", f"Je sais {que} a vu {tom}.")
        for mary, que in (("Zoé", "que Zoé"), ("Ada", "qu'Ada"))
        for tom in ("Zoé", "Ada")
    }
    dogs = {("Zoé's dog", "Le chien de Zoé"), ("Ada's dog", "Le chien d'Ada")}
    assert drawn(others, "Tom's dog", "Le chien de Tom") == dogs
