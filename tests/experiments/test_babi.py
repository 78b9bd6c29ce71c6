"""The files of the bAbI tasks, as the script finds them."""

import pytest
from babi import find_tasks

from keraszoo.errors import DataError
from keraszoo.text.babi import read_questions


def test_tasks_are_found_by_their_files(tmp_path):
    with pytest.raises(DataError, match="expected files such as qa1_single-supporting-fact_train.txt"):
        find_tasks(tmp_path)
    with pytest.raises(DataError, match="no such directory"):
        find_tasks(tmp_path / "nowhere")
    for name in ("qa10_so-so_test.txt", "qa10_so-so_train.txt.gz", "qa2_two-facts_train.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(DataError, match="task 2 has no test file"):
        find_tasks(tmp_path)
    (tmp_path / "qa2_two-facts_test.txt").write_text("")
    (tmp_path / "README.txt").write_text("")
    tasks = find_tasks(tmp_path)
    assert list(tasks) == [2, 10]
    assert tasks[10] == ("so so", tmp_path / "qa10_so-so_train.txt.gz", tmp_path / "qa10_so-so_test.txt")


@pytest.mark.slow
def test_the_real_files(shared_data):
    tasks = find_tasks(shared_data("babi_en/README.txt.gz").parent)
    assert list(tasks) == list(range(1, 21)) and tasks[1][0] == "single supporting fact"
    for _, *files in tasks.values():
        for file in files:
            questions = read_questions(file)
            assert len(questions) == 1000
            assert all(q.supporting and max(q.supporting) < len(q.story) for q in questions)
