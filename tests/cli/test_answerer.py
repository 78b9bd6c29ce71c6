"""The command `ask`."""

import json

import pytest

from keraszoo import QuestionAnswerer

STORY = "Mary went home.\n\nMary is home.\n"


def test_ask_stdin_and_a_file(run, answerer_directory, tmp_path):
    sentences = ["Mary went home.", "Mary is home."]
    wanted = QuestionAnswerer.from_preset(answerer_directory).answer(sentences, "Where is Mary?")
    ask = "ask", answerer_directory, "Where is Mary?"
    assert run(*ask, stdin=STORY.encode()) == (0, f"{wanted.text}\n", "")
    (tmp_path / "story").write_text(STORY)
    code, printed, _ = run(*ask, tmp_path / "story", "--hops")
    answer, *rows = printed.splitlines()
    assert code == 0 and answer == wanted.text
    assert [row.split("  ")[1] for row in rows] == list(wanted.sentences)
    shown = [[float(weight) for weight in row.split("  ")[0].split()] for row in rows]
    assert shown == pytest.approx(wanted.attention_weights.T.round(2), abs=0.011)
    code, printed, _ = run(*ask, tmp_path / "story", "--json")
    record = json.loads(printed)
    assert (record["answer"], record["sentences"]) == (wanted.text, list(wanted.sentences))
    assert record["probability"] == pytest.approx(wanted.probability) and len(record["hops"]) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ANSWERER", "Where is Bob?"], "'Where is Bob?': "),
        (["ANSWERER", "Where is Mary?", "/no/such/file"], "/no/such/file"),
        (["tatoeba_en_de_luong", "Where is Mary?"], "tatoeba_en_de_luong"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refusal, answerer_directory, arguments, said):
    arguments = [str(answerer_directory) if argument == "ANSWERER" else argument for argument in arguments]
    assert said in refusal("ask", *arguments, stdin=STORY.encode())


def test_no_story_has_no_answer(refusal, answerer_directory):
    said = "expected a story of at least one sentence, got none"
    assert said in refusal("ask", answerer_directory, "Where is Mary?", stdin=b"\n")
