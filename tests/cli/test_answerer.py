"""The command `ask`."""

import json

import keras
import pytest

from keraszoo import QuestionAnswerer
from keraszoo.models import MemoryNetwork
from keraszoo.text.vocabulary import Vocabulary

STORY = "Mary went home.\n\nMary is home.\n"


@pytest.fixture(scope="module")
def answerer(tmp_path_factory):
    keras.utils.set_random_seed(1)
    words = Vocabulary(["mary", "went", "home", "where", "is"])
    directory = tmp_path_factory.mktemp("answerer") / "model"
    QuestionAnswerer(MemoryNetwork(len(words), width=4), words).save_to_preset(directory)
    return directory


def test_ask_stdin_and_a_file(run, answerer, tmp_path):
    wanted = QuestionAnswerer.from_preset(answerer).answer(
        ["Mary went home.", "Mary is home."], "Where is Mary?"
    )
    assert run("ask", answerer, "Where is Mary?", stdin=STORY.encode()) == (0, f"{wanted.text}\n", "")
    (tmp_path / "story").write_text(STORY)
    code, printed, _ = run("ask", answerer, "Where is Mary?", tmp_path / "story", "--hops")
    answer, *rows = printed.splitlines()
    assert code == 0 and answer == wanted.text
    assert [row.split("  ")[1] for row in rows] == list(wanted.sentences)
    shown = [[float(weight) for weight in row.split("  ")[0].split()] for row in rows]
    assert shown == pytest.approx(wanted.attention_weights.T.round(2), abs=0.011)
    code, printed, _ = run("ask", answerer, "Where is Mary?", tmp_path / "story", "--json")
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
def test_bad_input_is_one_line_and_exit_code_2(run, answerer, arguments, said):
    arguments = [str(answerer) if argument == "ANSWERER" else argument for argument in arguments]
    code, printed, message = run("ask", *arguments, stdin=STORY.encode())
    assert (code, printed, message.count("\n")) == (2, "", 1) and said in message


def test_no_story_has_no_answer(run, answerer):
    code, printed, message = run("ask", answerer, "Where is Mary?", stdin=b"\n")
    assert (code, printed) == (2, "") and "expected a story of at least one sentence, got none" in message
