"""The table of the experiment, and its corpora."""

import json

import pretrained_taggers

from keraszoo.text.columns import read_columns


def test_the_table_compares_means_with_the_strong_tagger(tmp_path, capsys):
    row = {"validation_f1": 1, "epochs": 5, "training_seconds": 3}
    row |= {"words_per_second": 2000, "megabytes": 90.0}
    scores = {("btc", "strong"): [70, 72], ("btc", "tuned"): [78, 78], ("wnut17", "tuned"): [50]}
    with (tmp_path / "results.jsonl").open("w") as file:
        for (corpus, name), values in scores.items():
            for seed, score in enumerate(values):
                about = {"corpus": corpus, "configuration": name, "seed": seed, "f1": {"test": score}}
                file.write(json.dumps({**row, **about}) + "\n")
    pretrained_taggers.table(tmp_path / "results.jsonl")
    lines = capsys.readouterr().out.splitlines()
    assert "| btc | strong | 2 | 71.00 ± 1.41 | 2,000 | 90 | 3 |" in lines
    assert "| wnut17 | tuned | 1 | 50.00 | 2,000 | 90 | 3 |" in lines
    assert lines[-1] == "tuned: +7.00 F1 over the strong tagger, the mean of btc"


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
