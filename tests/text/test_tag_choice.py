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
    with pytest.raises(KerasZooError, match="labels: there is no label 'PER', expected one of LOC, X"):
        check_choice(["PER", "LOC"], ["PER"], {"PER": "X"})
