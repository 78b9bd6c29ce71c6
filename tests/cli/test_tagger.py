"""The commands with a trained tagger: their output, and one-line errors."""

import html
import json
import os
import re
import subprocess
import sys

import pytest

from keraszoo.cli import app
from keraszoo.cli import tagger as commands
from keraszoo.text.columns import column_lines
from keraszoo.text.lines import write_lines

TEXT = "In Paris, Kurt Gödel met Hedy Lamarr."


@pytest.fixture
def tagger(trained_tagger, monkeypatch):
    """The trained tagger, which the commands find under any name."""
    monkeypatch.setattr(commands, "load", lambda model, corpus=None: trained_tagger)
    monkeypatch.setattr(app, "task", lambda model: "tagging")
    return trained_tagger


def test_tag_from_stdin_finds_out_the_task_of_a_model(run, tagger_directory):
    code, out, err = run("tag", tagger_directory, stdin=f"{TEXT}\n\n".encode())
    assert code == 0, err
    first, blank = map(json.loads, out.splitlines())
    found = [(entity["text"], entity["label"]) for entity in first["entities"]]
    assert found == [("Paris", "LOC"), ("Kurt Gödel", "PER"), ("Hedy Lamarr", "PER")]
    assert blank == {"text": "", "entities": []}
    assert app.task(tagger_directory) == "tagging" and app.task("tatoeba_en_de_luong") == "translation"


def test_tag_into_every_format(run, tagger, tmp_path):
    (tmp_path / "a.txt").write_text(f"{TEXT}\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": 1, "text": TEXT}) + "\n")
    (tmp_path / "a.tsv").write_text("In\nParis\n\nOslo\n")
    text = "In [LOC Paris], [PER Kurt Gödel] met [PER Hedy Lamarr].\n"
    assert run("tag", "m", tmp_path / "a.txt", "--to", "text")[:2] == (0, text)
    code, out, _ = run("tag", "m", tmp_path / "a.jsonl", "--attention")  # --from json by the name
    answer = json.loads(out)
    assert code == 0 and answer["id"] == 1 and len(answer["attention_weights"]) == len(answer["tokens"])
    out = run("tag", "m", tmp_path / "a.tsv", "--from", "columns")[1]
    assert [line.split()[-1:] for line in out.splitlines()[:3]] == [["O"], ["B-LOC"], []]
    assert [line.split()[:1] for line in out.splitlines()] == [["In"], ["Paris"], [], ["Oslo"]]
    code, out, _ = run("tag", "m", tmp_path / "a.tsv", "--from", "columns", "--to", "html", "--attention")
    assert code == 0 and out.startswith("<!DOCTYPE html>") and "<mark" in out and "Oslo" in out
    out = run("tag", "m", "--to", "columns", stdin=b"Paris\n")[1]
    assert out == "Paris\tB-LOC\n\n"
    columns = "--from", "columns", "--separator", ","
    assert run("tag", "m", *columns, stdin=b"In,x\nParis,y\n")[1] == "In,x,O\nParis,y,B-LOC\n"


def test_a_sentence_ends_where_its_file_of_columns_ends(run, tagger, tmp_path):
    (tmp_path / "a.tsv").write_text("In\nParis")
    (tmp_path / "b.tsv").write_text("Oslo\n\n")
    out = run("tag", "m", *[tmp_path / f"{name}.tsv" for name in "aba"], "--from", "columns")[1]
    words = [line.split()[:1] for line in out.splitlines()]
    assert words == [["In"], ["Paris"], [], ["Oslo"], [], ["In"], ["Paris"]]


def test_files_of_columns_have_one_header(run, tagger, tmp_path):
    (tmp_path / "a.tsv").write_text("word\tpos\nIn\tIN\n")
    (tmp_path / "b.tsv").write_text("\nword\tpos\nOslo\tNNP\n")
    (tmp_path / "c.tsv").write_text("pos\tword\nNNP\tParis\n")
    named = ["--from", "columns", "--token-column", "word"]
    code, out, err = run("tag", "m", *[tmp_path / f"{name}.tsv" for name in "abac"], *named)
    words = [line.split("\t")[0] for line in out.split("\n")]
    assert words == ["word", "In", "", "", "Oslo", "", "In", ""] and out.startswith("word\tpos\ttag\nIn\t")
    said = "c.tsv:1: expected the header of the first file, 'word\\tpos', got 'pos\\tword'\n"
    assert code == 2 and err.endswith(said)
    code, out, _ = run("tag", "m", tmp_path / "a.tsv", tmp_path / "c.tsv", *named, "--to", "text")
    assert (code, out.count("\n")) == (0, 2)


def test_odd_characters_of_a_text_are_kept(run, tagger):
    record = {"id": "\udfff", "text": "In Paris \ud800"}
    code, out, _ = run("tag", "m", "--from", "json", stdin=json.dumps(record).encode())
    assert code == 0 and {**json.loads(out), **record} == json.loads(out)
    text = "In Paris\u2028met\x0bKurt\x0cGödel\x85and\rHedy\x1cLamarr"
    out = run("tag", "m", "--to", "html", stdin=f"{text}\nA second line.\n".encode())[1]
    shown, _ = re.findall("<p>(.*?)</p>", re.sub("<small>.*?</small>|</?mark.*?>", "", out), re.DOTALL)
    assert shown == html.escape(text).replace("\r", "&#13;")  # browsers read a bare one as a line feed


def test_a_threshold_leaves_out_entities(run, tagger):
    probabilities = [entity.probability for entity in tagger.tag(TEXT)]
    threshold = (min(probabilities) + max(probabilities)) / 2
    code, out, _ = run("tag", "m", "--to", "text", "--threshold", threshold, stdin=TEXT.encode())
    left = sum(probability > threshold for probability in probabilities)
    assert code == 0 and out.count("[") == left < len(probabilities)


def test_repeated_words_of_a_document_agree(run, tagger, tmp_path, monkeypatch):
    asked = []
    details, evaluate = tagger.tag_tokens_details, tagger.evaluate

    def tag(sentences, *options, context=0, documents=None):
        asked.append((context or options[1], list(documents or options[2])))
        return details(sentences)

    def score(gold, known, context):
        asked.append(context)
        return evaluate(gold)

    monkeypatch.setattr(tagger, "tag_tokens_details", tag)
    monkeypatch.setattr(tagger, "evaluate", score)
    (tmp_path / "a.tsv").write_text("In O\nParis B-LOC\n\nParis B-LOC\n\n-DOCSTART- O\n\nOslo B-LOC\n")
    columns = "--from", "columns", "--separator", " "
    assert run("tag", "m", tmp_path / "a.tsv", *columns, "--context", "2")[0] == 0
    assert run("tag", "m", "--context", "3", stdin=b"In Paris. To Oslo.\nIn Rome.\n")[0] == 0
    assert run("evaluate", "m", "--data", tmp_path / "a.tsv", "--context", "4")[0] == 0
    assert asked == [(2, [0, 0, 1]), (3, [0, 0, 1]), 4]


def test_evaluate(run, tagger, other_sentences, tmp_path):
    write_lines(tmp_path / "test.tsv", column_lines(other_sentences, "BIOES"))
    code, out, _ = run("evaluate", "m", "--data", tmp_path / "test.tsv", "--known", tmp_path / "test.tsv")
    assert code == 0 and "F1, strict IOB2" in out and "F1, unseen" in out and "seqeval" in out
    code, out, _ = run("evaluate", "m", "--data", tmp_path / "test.tsv", "--scheme", "BIOES", "--json")
    f1 = tagger.evaluate(other_sentences).f1.score
    assert code == 0 and json.loads(out)["f1"]["score"] == pytest.approx(f1)
    (tmp_path / "other.tsv").write_text("aspirin\tB-Chemical\n")
    code, _, err = run("evaluate", "m", "--data", tmp_path / "other.tsv")
    assert code == 0 and "the tagger finds LOC, PER, the data has only Chemical" in err
    (tmp_path / "test.csv").write_text("In,O\nParis,B-LOC\n")
    code, out, _ = run("evaluate", "m", "--data", tmp_path / "test.csv", "--separator", ",")
    assert code == 0 and "100.00" in out


def test_a_choice_and_a_mapping_of_labels(run, refusal, tagger, tmp_path):
    answer = "In Paris, [PERSON Kurt Gödel] met [PERSON Hedy Lamarr].\n"
    options = "--labels", "PERSON, PERSON", "--map", "PER=PERSON"
    assert run("tag", "m", "--to", "text", *options, stdin=TEXT.encode())[:2] == (0, answer)
    (tmp_path / "a.tsv").write_text("Oslo\tB-GPE\nHedy\tB-PERSON\nLamarr\tI-PERSON\n")
    for out in (
        run("tag", "m", tmp_path / "a.tsv", "--from", "columns", *options)[1],
        run("tag", "m", "--to", "columns", *options, stdin=b"Oslo Hedy Lamarr\n")[1],
    ):
        assert [line.split("\t")[-1] for line in out.splitlines()[:3]] == ["O", "B-PERSON", "I-PERSON"]
    page = run("tag", "m", "--to", "html", *options, stdin=TEXT.encode())[1]
    assert "<small>PERSON" in page and "LOC" not in page
    renamed = "--map", "PERSON=PER", "--map", "GPE=LOC"
    for chosen, counts in (([], [("LOC", 1), ("PER", 1)]), (["--labels", "PER"], [("PER", 1)])):
        code, out, err = run("evaluate", "m", "--data", tmp_path / "a.tsv", "--json", *renamed, *chosen)
        assert (code, err) == (0, "")
        assert [(label["name"], label["gold"]) for label in json.loads(out)["labels"]] == counts
    said = "--map: expected OLD=NEW, such as PERSON=PER, got PER"
    assert said in refusal("tag", "m", "--map", "PER", stdin=b"Oslo\n")


def test_plot_as_picture_and_page(run, refusal, tagger, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = run("plot", "m", TEXT, tmp_path / "a.png")
    assert code == 0 and out == "In [LOC Paris], [PER Kurt Gödel] met [PER Hedy Lamarr].\n"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run("plot", "m", f"{TEXT} Nobody knew.", tmp_path / "a.html")[0] == 0
    assert "Nobody" in (tmp_path / "a.html").read_text()
    message = refusal("plot", "m", f"{TEXT} Nobody knew.", tmp_path / "b.png")
    assert "a picture shows one sentence, got 2" in message


def test_export_finds_out_the_task_by_itself(run, refusal, tagger, tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(type(tagger), "export", lambda _, *given, format: done.append((*given, format)))
    monkeypatch.setattr(type(tagger), "verify_export", lambda self, directory, texts: len(texts))
    (tmp_path / "a.txt").write_text("a\nb\n")
    code, out, _ = run("export", "m", tmp_path / "saved", "--verify", tmp_path / "a.txt")
    assert (code, out) == (0, f"{tmp_path / 'saved'}\n2 of 2 results are the same\n")
    for arguments in (
        ["export", "m", "x", "--jit-compile"],
        ["plot", "m", "In Paris", "a.png", "--subwords"],
    ):
        assert f"{arguments[-1]} has no effect with a tagger" in refusal(*arguments)
    assert done == [(str(tmp_path / "saved"), "savedmodel")]


def test_a_corpus_is_chosen(run, tagger, tmp_path, monkeypatch):
    chosen = []
    monkeypatch.setattr(commands, "load", lambda model, corpus: chosen.append(corpus) or tagger)
    monkeypatch.setattr(type(tagger), "export", lambda self, directory, format: None)
    (tmp_path / "a.tsv").write_text("In\tO\nParis\tB-LOC\n")
    assert run("tag", "m", "--corpus", "news", stdin=b"Paris\n")[0] == 0
    assert run("evaluate", "m", "--data", tmp_path / "a.tsv", "--corpus", "posts")[0] == 0
    assert run("export", "m", tmp_path / "saved", "--corpus", "mail")[0] == 0
    assert chosen == ["news", "posts", "mail"]


PAIRS = ["evaluate", "m", "--source", "x", "--references", "x"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tag", "no-such-model"], "no-such-model: no such directory"),
        (["tag", "m", "--to", "text", "--attention"], "--attention: expected --to json or html, got text"),
        (["tag", "m", "--token-column", "1"], "--token-column: expected --from columns, got text"),
        (["tag", "m", "--separator", ","], "--separator: expected --from columns, got text"),
        (["tag", "m", "--from", "columns", "--threshold", "0.5"], "--threshold: expected --to text, json"),
        (["evaluate", "m", "--data", "x", "--source", "y"], "--source has no effect with --data"),
        (["evaluate", "m", "--data", "x", "--beam-width", "2"], "--beam-width has no effect with --data"),
        ([*PAIRS, "--map", "a=b"], "--map has no effect with --source"),
        (["evaluate", "m", "--data", "x", "--tokenizer", "zh"], "--tokenizer has no effect with --data"),
        ([*PAIRS, "--context", "4"], "--context has no effect with --source"),
        ([*PAIRS, "--corpus", "a"], "--corpus has no effect with --source"),
        ([*PAIRS, "--tag-column", ""], "--tag-column has no effect with --source"),
        (["evaluate", "m", "--data", "x.jsonl", "--scheme", "IO"], "--scheme has no effect with JSON lines"),
        (
            ["evaluate", "m", "--data", "a.jsonl", "--known", "b.jsonl.gz", "--tag-column", "1"],
            "--tag-column has no effect with JSON lines",
        ),
        (["evaluate", "m", "--source", "y"], "Missing option '--references', or --data for a tagger"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refusal, arguments, said):
    assert said in refusal(*arguments)


@pytest.mark.slow
def test_scores_come_without_a_line_of_tensorflows(tagger_directory, tmp_path):
    (tmp_path / "a.tsv").write_text("In\tO\nParis\tB-LOC\n")
    command = [sys.executable, "-m", "keraszoo", "evaluate", tagger_directory, "--data", tmp_path / "a.tsv"]
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "") and "F1, strict IOB2" in done.stdout


def test_an_empty_name_of_a_column_is_no_missing_option(refusal, tagger, tmp_path):
    (tmp_path / "a.tsv").write_text("In\tO\nParis\tB-LOC\n")
    for command in (
        ["tag", "m", tmp_path / "a.tsv", "--from", "columns", "--token-column"],
        ["evaluate", "m", "--data", tmp_path / "a.tsv", "--token-column"],
        ["evaluate", "m", "--data", tmp_path / "a.tsv", "--tag-column"],
    ):
        assert "a.tsv:1: expected a column '', got In, O" in refusal(*command, "")
