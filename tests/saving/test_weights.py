"""Weights as safetensors: all of them or none, and a model that is left as it was."""

import json

import keras
import numpy as np
import pytest
import safetensors.numpy

from keraszoo.errors import PresetError
from keraszoo.models import DeepLSTM, Ensemble, RNNSearch
from keraszoo.saving.model_directory import read_directory, write_directory
from keraszoo.saving.weights import load_weights, names_of, save_weights, stored_shapes

# Keras 3.15 asks NumPy 2 for arrays in a way that warns.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def small_model(units=5, layers=2, dtype="float32"):
    dense = [keras.layers.Dense(units, dtype=dtype, name=f"dense_{i}") for i in range(layers)]
    last = keras.layers.BatchNormalization(name="norm")
    return keras.Sequential([keras.Input((3,)), *dense, keras.layers.Dropout(0.5), last])


def values(model):
    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in model.weights]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.safetensors"


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        *((dtype, None) for dtype in ("float32", "mixed_bfloat16", "bfloat16", "float16")),
        ("bfloat16", "float16"),  # not rounded to float16
    ],
)
def test_a_round_trip_gives_every_weight(path, dtype, stored):
    model, other = small_model(dtype=dtype), small_model(dtype=dtype)
    save_weights(model, path, stored)
    assert not same(values(model), values(other))
    load_weights(other, path)
    assert same(values(model), values(other))


def test_another_library_reads_the_names_and_arrays(path):
    model = small_model()
    save_weights(model, path)
    arrays = safetensors.numpy.load_file(path)
    assert sorted(arrays) == sorted(names_of(model)) and "dense_1/kernel" in arrays
    assert all(np.array_equal(arrays[name], weight.numpy()) for name, weight in names_of(model).items())
    assert stored_shapes(path)["dense_0/kernel"] == (3, 5)


def test_names_do_not_depend_on_models_made_before(path):
    first, second = (RNNSearch(9, embedding_dim=4, units=6) for _ in range(2))
    first.build(), second.build()
    assert first.name != second.name and list(names_of(first)) == list(names_of(second))


def test_the_members_of_an_ensemble_keep_their_weights_apart(path):
    def make():
        same_class = [RNNSearch(9, embedding_dim=4, units=6) for _ in range(2)]
        ensemble = Ensemble([*same_class, DeepLSTM(9, embedding_dim=4, units=6, num_layers=1)])
        ensemble.build()
        return ensemble

    one, other = make(), make()
    save_weights(one, path)
    load_weights(other, path)
    assert same(values(one), values(other))
    assert {name.split("/")[0] for name in names_of(one)} == {"models.0", "models.1", "models.2"}


def test_in_half_precision_weights_are_rounded_once_and_take_half_the_room(tmp_path):
    model, other = small_model(units=99), small_model(units=99)
    model.layers[-1].moving_mean.assign(np.linspace(-1e-4, 6e4, 99))
    paths = [tmp_path / f"{name}.safetensors" for name in ("full", "half", "again")]
    save_weights(model, paths[0])
    save_weights(model, paths[1], "float16")
    load_weights(other, paths[1])
    assert all(variable.dtype == "float32" for variable in other.weights)
    assert same(values(other), [value.astype("float16").astype("float32") for value in values(model)])
    save_weights(other, paths[2], "float16")
    assert paths[1].read_bytes() == paths[2].read_bytes()
    full, half, _ = (path.stat().st_size for path in paths)
    assert full - half > 1.98 * model.count_params()  # bytes


@pytest.mark.parametrize(
    ("value", "dtype", "said"),
    [
        (65520.0, "float16", r"'dense_0/bias' has 6.55e\+04, too large for float16"),
        (1.0, "int8", "as they are or as float16, not as 'int8'"),
        (np.nan, "float16", r"'dense_0/bias' \(5,\) has NaN or infinite numbers"),
        (np.inf, None, r"'dense_0/bias' \(5,\) has NaN or infinite numbers"),
    ],
)
def test_values_that_cannot_be_stored_are_refused(path, value, dtype, said):
    model = small_model()
    model.layers[0].bias.assign([value, *[0.0] * 4])
    with pytest.raises(PresetError, match=said):
        save_weights(model, path, dtype)
    assert not path.exists()


def test_the_optimizer_stays_out_of_the_file_and_in_the_model(tmp_path):
    model, plain, fitted = small_model(), tmp_path / "plain.safetensors", tmp_path / "fitted.safetensors"
    save_weights(model, plain)
    model.compile("adam", "mse", jit_compile=False)
    model.fit(np.ones((4, 3)), np.ones((4, 5)), verbose=0)
    optimizer, moments = model.optimizer, [np.array(v.value) for v in model.optimizer.variables]
    save_weights(model, fitted)
    load_weights(model, plain)
    assert model.optimizer is optimizer and same(moments, [np.array(v.value) for v in optimizer.variables])
    assert plain.stat().st_size == fitted.stat().st_size


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"units": 6}, r"weight 'dense_0/kernel' is \(3, 5\), expected \(3, 6\)"),
        ({"layers": 3}, "has no weight 'dense_2/kernel'"),
        ({"layers": 1}, "has a weight 'dense_1/.*', which the model lacks"),
    ],
)
def test_weights_of_another_model_are_refused_and_the_model_left_alone(path, changes, said):
    other = small_model(**changes)
    save_weights(small_model(), path)
    before = values(other)
    with pytest.raises(PresetError, match=f"m.safetensors: {said}"):
        load_weights(other, path)
    assert same(before, values(other))


@pytest.mark.parametrize("value", [np.full(5, np.nan, "float32"), np.zeros(5, "int8")])
def test_stored_values_of_another_kind_are_refused(path, value):
    model = small_model()
    arrays = {name: weight.numpy() for name, weight in names_of(model).items()}
    path.write_bytes(safetensors.numpy.save({**arrays, "dense_1/bias": value}))
    before = values(model)
    with pytest.raises(PresetError, match=r"m.safetensors: weight 'dense_1/bias' .*(NaN|is int8)"):
        load_weights(model, path)
    assert same(before, values(model))


def test_a_model_without_weights_yet_is_refused(path):
    model = keras.Sequential([keras.layers.Dense(2)])
    for function in (save_weights, load_weights):
        with pytest.raises(PresetError, match="has no weights yet: call it on a batch first"):
            function(model, path)


def file_of(kind, count, size):
    header = json.dumps({"a": {"dtype": kind, "shape": [count], "data_offsets": [0, size]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"1"


BAD = {
    "no file": None,
    "empty": b"",
    "claims 4 TB": file_of("F32", 1 << 40, 1 << 42),
    "an unknown type": file_of("F99", 1, 1),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_files_that_are_no_weight_files_are_refused(path, content):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PresetError, match=r"m.safetensors: (no such file|is not a readable weight file)"):
        load_weights(small_model(), path)


def test_a_full_disk_while_weights_are_written_leaves_the_old_directory(tmp_path, full_disk):
    model, place = small_model(units=200), tmp_path / "model"
    old = {"config.json": {"units": 5}, "model.safetensors": lambda path: path.write_bytes(b"old")}
    write_directory(place, old)
    with pytest.raises(PresetError, match=r"model/model.safetensors: cannot be written") as error:
        new = {"config.json": {}, "model.safetensors": lambda path: save_weights(model, path)}
        write_directory(place, new)
    assert isinstance(error.value.__cause__, OSError)  # by which a training knows a full disk, and goes on
    assert read_directory(place).read_bytes("model.safetensors") == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["model"]


def test_weights_and_config_of_two_models_never_meet(tmp_path):
    def write(model):
        files = {"config.json": {}, "model.safetensors": lambda path: save_weights(model, path)}
        write_directory(tmp_path / "m", files)

    model, other = small_model(), small_model()
    write(model)
    directory = read_directory(tmp_path / "m")
    directory.load_weights(other)
    assert same(values(model), values(other))
    write(small_model())
    with pytest.raises(PresetError, match="was replaced after it was read"):
        directory.load_weights(other)
    assert same(values(model), values(other))
