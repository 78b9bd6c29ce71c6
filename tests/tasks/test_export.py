"""Where exports may be written."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.tasks.export import check_export


def test_a_file_is_no_export(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(KerasZooError, match="expected a new directory or an earlier export"):
        check_export(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    check_export(tmp_path / "empty")
    check_export(tmp_path / "new")
