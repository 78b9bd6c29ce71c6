"""The table of the experiment, and its corpora."""

import argparse
import json

import pretrained_taggers

from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import write_lines


def test_the_table_compares_means_with_the_strong_tagger(tmp_path, capsys):
    row = {"validation_f1": 1, "epochs": 5, "training_seconds": 3}
    row |= {"words_per_second": 2000, "megabytes": 90.0}
    tests = dict(reversed([test.split("/") for test in pretrained_taggers.TESTS]))  # the first of each
    with (tmp_path / "results.jsonl").open("w") as file:
        for name, scores in {"strong": [70, 72], "tuned": [78]}.items():
            for seed, score in enumerate(scores):
                for corpus, test in tests.items():
                    f1 = dict.fromkeys([test, "test_uner_pud", "test_worldwide"], score + (corpus == "btc"))
                    f1 |= {"fin3": score - 30} if corpus == "english" else {}
                    about = {"corpus": corpus, "configuration": name, "seed": seed, "f1": f1}
                    file.write(json.dumps({**row, **about}) + "\n")
    pretrained_taggers.table(tmp_path / "results.jsonl")
    lines = capsys.readouterr().out.splitlines()
    spread = ["71.00 ± 1.41"] * 2 + ["72.00 ± 1.41"] + ["71.00 ± 1.41"] * 5
    assert f"| strong | 2 | {' | '.join(spread)} | 71.12 | 41.00 ± 1.41 | 2,000 | 90 | 18 |" in lines
    assert lines[-1] == "MiniLM, fine-tuned: +7.00 F1 over the strong tagger, the mean of the test sets"
    stored = json.loads((tmp_path / "results.table.json").read_text())
    assert [len(line) for line in stored["rows"]] == [len(stored["columns"])] * 2


def test_samples_are_deterministic_and_keep_sentences_whole(tmp_path):
    lines = "".join(f"Name{i}\tB-PER\nspeaks\tO\n\n" for i in range(50))
    (tmp_path / "all.tsv").write_text(lines)
    for name in ("a", "b"):
        pretrained_taggers.sampled(tmp_path / "all.tsv", tmp_path / f"{name}.tsv", most=21)
    sentences = read_columns(tmp_path / "a.tsv").sentences
    assert len(sentences) == 11 and all(sentence.tags == ("B-PER", "O") for sentence in sentences)
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    pretrained_taggers.sampled(tmp_path / "all.tsv", tmp_path / "whole.tsv")
    assert (tmp_path / "whole.tsv").read_text() == lines


def test_speeds_are_measured_again_and_nothing_else_changes(tmp_path, tagger_directory, other_sentences):
    (tmp_path / "btc").mkdir()
    (tmp_path / "btc/strong_seed0").symlink_to(tagger_directory)
    write_lines(tmp_path / "btc/test.tsv", column_lines(other_sentences))
    row = {"corpus": "btc", "configuration": "strong", "seed": 0, "f1": {"test": 9}, "words_per_second": 0}
    results = tmp_path / "results.jsonl"
    results.write_text(json.dumps(row) + "\n")
    pretrained_taggers.speed(argparse.Namespace(runs=tmp_path, results=results))
    again = json.loads(results.read_text())
    assert again.pop("words_per_second") > 0 and again == {k: row[k] for k in again}
