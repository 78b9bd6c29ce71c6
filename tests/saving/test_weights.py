"""Weights: all of them or none, and a model that is left as it was."""

import random
import time
import warnings

import h5py
import keras
import numpy as np
import pytest

from keraszoo.errors import PresetError
from keraszoo.saving.model_directory import read_directory, write_directory
from keraszoo.saving.weights import load_weights, save_weights

# Keras 3.15 asks NumPy 2 for arrays in a way that warns.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def small_model(units=5, layers=2, dtype="float32"):
    return keras.Sequential(
        [
            keras.Input((3,)),
            *[keras.layers.Dense(units, dtype=dtype) for _ in range(layers)],
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
        ]
    )


def values(model):
    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in model.weights]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "bfloat16", "float16"])
def test_a_round_trip_gives_every_weight(tmp_path, dtype):
    model, other = small_model(dtype=dtype), small_model(dtype=dtype)
    save_weights(model, tmp_path / "m.weights.h5")
    assert not same(values(model), values(other))
    load_weights(other, tmp_path / "m.weights.h5")
    assert same(values(model), values(other))


def test_in_half_precision_weights_are_rounded_once_and_take_half_the_room(tmp_path):
    model, other = small_model(units=99), small_model(units=99)
    model.layers[-1].moving_mean.assign(np.linspace(-1e-4, 6e4, 99))
    paths = tmp_path / "full.weights.h5", tmp_path / "half.weights.h5", tmp_path / "again.weights.h5"
    save_weights(model, paths[0])
    save_weights(model, paths[1], "float16")
    load_weights(other, paths[1])
    assert all(variable.dtype == "float32" for variable in other.weights)
    assert same(values(other), [value.astype("float16").astype("float32") for value in values(model)])
    save_weights(other, paths[2], "float16")
    load_weights(model, paths[2])
    assert same(values(model), values(other))
    full, half, _ = (path.stat().st_size for path in paths)
    assert full - half > 1.98 * model.count_params()  # bytes
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.parametrize(
    ("value", "dtype", "said"),
    [
        (65520.0, "float16", "has 6.55e+04, too large for float16"),
        (1.0, "int8", "as they are or as float16, not as 'int8'"),
        (np.nan, "float16", "NaN"),
    ],
)
def test_what_half_precision_does_not_hold(tmp_path, value, dtype, said):
    model = small_model()
    model.layers[0].bias.assign([value, *[0.0] * 4])
    with pytest.raises(PresetError, match=said.replace("+", r"\+")):
        save_weights(model, tmp_path / "m.weights.h5", dtype)
    assert not list(tmp_path.iterdir())


def test_weights_that_are_no_decimal_numbers_stay_what_they_are(tmp_path):
    model, other = small_model(dtype="bfloat16"), small_model(dtype="bfloat16")
    save_weights(model, tmp_path / "m.weights.h5", "float16")
    load_weights(other, tmp_path / "m.weights.h5")
    assert same(values(model), values(other))


def test_the_optimizer_stays_out_of_the_file_and_in_the_model(tmp_path):
    model = small_model()
    save_weights(model, tmp_path / "plain.weights.h5")
    model.compile("adam", "mse", jit_compile=False)
    model.fit(np.ones((4, 3)), np.ones((4, 5)), verbose=0)
    optimizer, moments = model.optimizer, [np.array(v.value) for v in model.optimizer.variables]
    save_weights(model, tmp_path / "fitted.weights.h5")
    load_weights(model, tmp_path / "plain.weights.h5")
    load_weights(model, tmp_path / "fitted.weights.h5")
    assert model.optimizer is optimizer and same(moments, [np.array(v.value) for v in optimizer.variables])
    model.fit(np.ones((4, 3)), np.ones((4, 5)), verbose=0)  # goes on
    sizes = [(tmp_path / name).stat().st_size for name in ("plain.weights.h5", "fitted.weights.h5")]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("changes", [{"units": 6}, {"layers": 3}, {"layers": 1}, {"layers": 0}])
def test_weights_of_another_model_are_refused_and_the_model_left_alone(tmp_path, changes):
    other = small_model(**changes)
    save_weights(small_model(), tmp_path / "m.weights.h5")
    before = values(other)
    with pytest.raises(PresetError, match=r"m.weights.h5: (holds 8 weights, model|does not fit model)"):
        load_weights(other, tmp_path / "m.weights.h5")
    assert same(before, values(other))


def test_a_weight_that_the_file_names_otherwise_is_missed(tmp_path):
    """The number of weights fits, but Keras finds one layer's nowhere and says nothing in some versions."""
    save_weights(small_model(), tmp_path / "m.weights.h5")
    with h5py.File(tmp_path / "m.weights.h5", "a") as file:
        file.move("layers/dense", "layers/dance")
    model = small_model()
    before = values(model)
    with pytest.raises(PresetError, match="m.weights.h5"):
        load_weights(model, tmp_path / "m.weights.h5")
    assert same(before, values(model))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(tmp_path, value):
    model = small_model()
    save_weights(model, tmp_path / "m.weights.h5")
    with h5py.File(tmp_path / "m.weights.h5", "a") as file:
        file["layers/dense_1/vars/1"][2] = value
    before = values(model)
    with pytest.raises(
        PresetError, match=r"m.weights.h5: weight '.*/bias' \(5,\) is missing, NaN or infinite"
    ):
        load_weights(model, tmp_path / "m.weights.h5")
    assert same(before, values(model))
    model.layers[0].bias.assign(np.full(5, value))
    with pytest.raises(PresetError, match=r"bias' \(5,\) is missing, NaN or infinite"):
        save_weights(model, tmp_path / "n.weights.h5")
    assert not (tmp_path / "n.weights.h5").exists()


def test_a_model_without_weights_yet_is_refused(tmp_path):
    model = keras.Sequential([keras.layers.Dense(2)])
    for function in (save_weights, load_weights):
        with pytest.raises(PresetError, match="has no weights yet: call it on a batch first"):
            function(model, tmp_path / "m.weights.h5")


def soft_link(file):
    file["layers/dense/vars/1"] = h5py.SoftLink("/layers/dense_1/vars/1")


def external_link(file):
    file["layers/dense/vars/1"] = h5py.ExternalLink("other.h5", "/x")


def external_storage(file):
    file["layers/dense/vars"].create_dataset("1", (5,), "f4", external=[(__file__, 0, 20)])


def virtual(file):
    layout = h5py.VirtualLayout((5,), "f4")
    layout[:] = h5py.VirtualSource(__file__, "x", (5,))
    file["layers/dense/vars"].create_virtual_dataset("1", layout)


def bomb(file):
    file["layers/dense/vars"].create_dataset("1", (1 << 40,), "f4", chunks=(1 << 20,), compression="gzip")


def claim(file):
    file["layers/dense/vars"].create_dataset("1", (1 << 40,), "f4")


def text(file):
    file["layers/dense/vars/1"] = "words"


def again(file):
    file["layers/dense/vars/1"] = file["layers/dense_1/vars/1"]


def loop(file):
    file["layers/dense/vars/1"] = file["layers"]


def unusual_float(file):
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_ebias(90)  # every number is 2^37 times as large
    space = h5py.h5s.create_simple((5,))
    h5py.h5d.create(file["layers/dense/vars"].id, b"1", kind, space).write(
        h5py.h5s.ALL, h5py.h5s.ALL, np.ones(5, "f4")
    )


ATTACKS = [unusual_float, soft_link, external_link, external_storage, virtual, bomb, claim, text, again, loop]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_hdf5_can_do_beyond_plain_arrays_is_refused(tmp_path, attack):
    model = small_model()
    save_weights(model, tmp_path / "m.weights.h5")
    with h5py.File(tmp_path / "m.weights.h5", "a") as file:
        del file["layers/dense/vars/1"]
        attack(file)
    before = values(model)
    with pytest.raises(PresetError, match=r"m.weights.h5: ('/layers|the file)"):
        load_weights(model, tmp_path / "m.weights.h5")
    assert same(before, values(model))


@pytest.mark.parametrize("content", [None, b"", b"words", b"\x89HDF\r\n\x1a\n" + bytes(200)])
def test_what_is_no_weight_file_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "m.weights.h5").write_bytes(content)
    with pytest.raises(PresetError, match=r"m.weights.h5: (no such file|is not a readable weight file)"):
        load_weights(small_model(), tmp_path / "m.weights.h5")


def test_damaged_files_raise_nothing_else_and_keep_the_model(tmp_path):
    """Without the manifest a flipped bit may pass for another weight, but it never crashes or half loads."""
    model = small_model()
    save_weights(model, tmp_path / "m.weights.h5")
    whole = (tmp_path / "m.weights.h5").read_bytes()
    model = small_model()
    before, rng, refused = values(model), random.Random(0), 0
    for _ in range(60):
        content = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(20):
            if content:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (tmp_path / "d.weights.h5").write_bytes(content)
        try:
            load_weights(model, tmp_path / "d.weights.h5")
            model.set_weights(before)
        except PresetError:
            refused += 1
            assert same(before, values(model))
    assert refused > 30


@pytest.mark.parametrize("dtype", [None, "float16"])
def test_the_same_weights_give_the_same_bytes_at_any_time(tmp_path, dtype):
    model, contents = small_model(), set()
    for seconds in (0, 1.1):  # HDF5 counts seconds
        time.sleep(seconds)
        save_weights(model, tmp_path / "m.weights.h5", dtype)
        contents.add((tmp_path / "m.weights.h5").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_changed_names_shapes_and_addresses_are_never_read_as_other_values(tmp_path, count):
    """HDF5 checks their sums, so a file loads as it was or not at all, even without the manifest."""
    model, other, draw = small_model(), small_model(), np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(draw.normal(size=weight.shape))
    save_weights(model, tmp_path / "m.weights.h5")
    whole = (tmp_path / "m.weights.h5").read_bytes()
    assert len(whole) < 12_000
    arrays = {
        place + i
        for value in values(model)
        for place in [whole.index(value.tobytes())]
        for i in range(value.nbytes)
    }
    headers, rng, refused = sorted(set(range(len(whole))) - arrays), random.Random(0), 0
    for _ in range(count):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 5])):
            content[rng.choice(headers)] ^= 1 << rng.randrange(8)
        (tmp_path / "d.weights.h5").write_bytes(content)
        try:
            load_weights(other, tmp_path / "d.weights.h5")
        except PresetError:
            refused += 1
        else:
            assert same(values(model), values(other))
    assert count / 4 < refused < count  # some bytes are not used
    print(f"{refused:,} refused, {count - refused:,} read with the same values")


def test_a_full_disk_while_weights_are_written_leaves_the_old_directory(tmp_path, full_disk):
    model, place = small_model(units=200), tmp_path / "model"
    write_directory(
        place, {"config.json": {"units": 5}, "model.weights.h5": lambda path: path.write_bytes(b"old")}
    )
    with (
        warnings.catch_warnings(),
        pytest.raises(PresetError, match=r"model/model.weights.h5: cannot be written") as error,
    ):
        warnings.simplefilter("ignore", pytest.PytestUnraisableExceptionWarning)
        write_directory(
            place, {"config.json": {}, "model.weights.h5": lambda path: save_weights(model, path)}
        )
    assert isinstance(error.value.__cause__, OSError)  # by which a training knows a full disk, and goes on
    assert read_directory(place).read_bytes("model.weights.h5") == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["model"]


def test_weights_and_config_of_two_models_never_meet(tmp_path):
    def write(model):
        write_directory(
            tmp_path / "m", {"config.json": {}, "model.weights.h5": lambda p: save_weights(model, p)}
        )

    model, other = small_model(), small_model()
    write(model)
    directory = read_directory(tmp_path / "m")
    directory.load_weights(other)
    assert same(values(model), values(other))
    write(small_model())
    with pytest.raises(PresetError, match="was replaced after it was read"):
        directory.load_weights(other)
    assert same(values(model), values(other))
