"""The experiment on mixtures of experts: tables, picture, finished runs that are skipped, equal cost."""

import math
import sys

import mixture


def test_a_finished_run_is_not_repeated(tmp_path, monkeypatch, capsys):
    trained = []

    def train(run, *_):
        trained.append(run)
        shares = {"shares": [1 / 16] * 16, "cv_importance": 0.1, "cv_load": 0.2, "max_over_mean": 1.3}
        return {"perplexity": 7.5, "parameters": 1000 + run["experts"], **shares}

    (tmp_path / "text").write_text("one two three\n" * 30)
    monkeypatch.setattr(mixture, "train", train)
    monkeypatch.setattr(mixture, "rows_of_ids", lambda options: (None, None))
    monkeypatch.setattr(sys, "argv", ["mixture.py", str(tmp_path / "text"), "--output", str(tmp_path)])
    for _ in range(2):
        mixture.main()
        told = capsys.readouterr().out
        assert "| 0.2 | 0.0 | 7.5 | 0.1 | 0.2 | 1.3 |" in told
        assert "| one wide network | 1,000 | 7.5 |\n| 2 | 1,002 | 7.5 |" in told
    assert trained == mixture.runs()
    assert (tmp_path / "expert_load.png").stat().st_size > 1000


def test_mixture_and_wide_network_have_equal_cost_per_word():
    _, _, wide = mixture.language_model({"experts": 0})
    _, _, mixed = mixture.language_model({"experts": 4, "importance": 0.1, "load": 0.1})
    of_one = sum(math.prod(maps.kernel.shape[1:]) for maps in (mixed.W_1, mixed.W_2))
    used = sum(math.prod(maps.kernel.shape) for maps in (wide.W_1, wide.W_2))
    assert mixture.EXPERTS_PER_WORD * of_one == used
