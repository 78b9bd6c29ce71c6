"""Lower-cased text gets back the capitals of other text."""

import recased_text


def test_words_get_their_usual_form_and_sentences_a_capital(tmp_path, monkeypatch, capsys):
    (tmp_path / "lower.txt").write_text(
        "levels of dna, e.g. in vivo (no. 3) vs. controls, rose in parkinson's disease. "
        "they fell in s. cerevisiae\n"
        "\nlevels of dna rose 2.5 mg. levels of dna rose 2.5 mg.\n"
    )
    (tmp_path / "cased.txt").write_text("Low DNA and dna or DNA. Levels of DNA are high.\n")
    (tmp_path / "tagged.tsv").write_text("In\tO\nParkinson\tB-Disease\n'\tI-Disease\ns\tI-Disease\n\n")
    files = [str(tmp_path / name) for name in ("lower.txt", "out.txt", "cased.txt", "tagged.tsv")]
    monkeypatch.setattr("sys.argv", ["", *files[:2], "--like", files[2], "--tagged", files[3]])
    recased_text.main()
    assert (tmp_path / "out.txt").read_text().splitlines() == [
        "Levels of DNA, e.g. in vivo (no. 3) vs. controls, rose in Parkinson's disease.",
        "They fell in s. cerevisiae",
        "Levels of DNA rose 2.5 mg.",
    ]
    assert capsys.readouterr().out == "2 words get another form, 3 sentences\n"
