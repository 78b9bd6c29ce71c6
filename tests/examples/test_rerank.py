"""The translation that several models find best, compared with a loop over single pairs."""

import json

import pytest
import rerank

from keraszoo import Translator
from keraszoo.cli.app import main
from keraszoo.errors import KerasZooError
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords


def test_as_a_loop_over_pairs(trained, trained_directory, new_translator, test_pairs, tmp_path, capsys):
    sources = [source for source, _ in test_pairs[:12]]
    (tmp_path / "text").write_text("\n".join(sources) + "\n")
    with pytest.raises(SystemExit):
        main(["translate", str(trained_directory), str(tmp_path / "text"), "--n-best", "3"])
    n_best = tmp_path / "n_best.jsonl"
    n_best.write_text(capsys.readouterr().out)
    lists = [json.loads(line) for line in n_best.read_text().splitlines()]
    other = new_translator()
    other.save_to_preset(tmp_path / "other")
    rerank.main(n_best, [tmp_path / "other"] * 2, tmp_path / "out.tsv", 2, 10.0)

    expected = []
    for one in lists:
        scores = {}
        for hypothesis in one["hypotheses"][:2]:
            text = hypothesis["text"]
            total = other.score([one["source"]], [text])[0]
            length = 1 + len(trained.target_subwords.encode([text])[0])
            scores[text] = (hypothesis["log_prob"] + 2 * 10 * total) / length
        expected.append((one["source"], max(scores, key=scores.get)))
    assert list(read_pairs(tmp_path / "out.tsv")) == expected
    same = sum(text == one["text"] for (_, text), one in zip(expected, lists, strict=True))
    assert 0 < same < 12 and f"12 sentences, {same} of them" in capsys.readouterr().out


def test_one_vocabulary_of_the_target(trained, trained_directory, train_pairs, tmp_path):
    subwords = Subwords.train([target for _, target in train_pairs], 43)
    model = type(trained.model)(trained.source_subwords.vocabulary_size, 43, embedding_dim=8, units=8)
    Translator(model, trained.source_subwords, subwords).save_to_preset(tmp_path / "other")
    with pytest.raises(KerasZooError, match="the same target subwords"):
        rerank.main("n_best.jsonl", [trained_directory, tmp_path / "other"], "out.tsv", 2, 1.0)
