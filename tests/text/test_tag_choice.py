"""Labels by choice and by other names."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.tag_choice import check_choice, relabel


def test_labels_are_renamed_and_chosen_without_touching_other_tags():
    tags = ["B-PER", "I-PER", "O", "S-DATE", "U-LOC", "B--"]
    assert relabel(tags) == tags
    assert relabel(["B-P", "B-PER"], "PER") == ["O", "B-PER"]
    assert relabel(tags, ["LOC", "-"]) == ["O", "O", "O", "O", "U-LOC", "B--"]
    assert relabel(tags, ["X"], {"DATE": "X", "PER": "Y"}) == ["O", "O", "O", "S-X", "O", "O"]
    assert check_choice(["PER"], "PER") == (["PER"], {})


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"labels": iter(["PER"])}, "labels: expected a list of labels, got <list_iter"),
        ({"labels": 3}, "labels: expected a list of labels, got 3"),
        ({"mapping": "PER=X"}, "mapping: expected a dict of old labels to new ones, got 'PER=X'"),
        ({"mapping": {"PER": "O"}}, "mapping: expected a label without blanks, got 'O'; `labels` leaves"),
        ({"labels": ["PER"], "mapping": {"PER": "X"}}, "labels: .* no label 'PER', expected one of LOC, X"),
    ],
)
def test_other_kinds_of_choices_are_refused(choice, message):
    with pytest.raises(KerasZooError, match=message):
        check_choice(["PER", "LOC"], **choice)
