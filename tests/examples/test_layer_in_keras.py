"""The attention layer in a stock Keras model learns to reverse its input."""

import layer_in_keras
import numpy as np
import pytest


@pytest.mark.slow
def test_the_model_reads_its_source_backward(tmp_path, capsys):
    picture = tmp_path / "attention.png"
    accuracy, weights = layer_in_keras.main(str(picture))
    assert accuracy > 0.95
    assert np.allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert (weights.argmax(axis=-1) == np.arange(8)[::-1]).sum() >= 7
    assert picture.stat().st_size > 1000 and "new sequences are right" in capsys.readouterr().out
