"""The command `doctor`: what this machine has that matters to keraszoo."""

import importlib.metadata
import json
import os
import platform
import shutil
from pathlib import Path

from keraszoo import __version__
from keraszoo.cli import console
from keraszoo.cli.console import AsJson
from keraszoo.errors import KerasZooError

PACKAGES = ("keras", "tensorflow", "tensorflow-text", "jax", "torch", "numpy", "sentencepiece")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_int8")
PRECISIONS = ("float32", "bfloat16", "float16")
NEEDED = 1e9  # bytes; a run with checkpoints writes a few hundred megabytes


def doctor(as_json: AsJson = False):
    """Print versions, devices, fast precisions, missing extras and free disk."""
    with console.results() as write:
        try:
            console.import_keras()
            devices, speeds = _devices(), list(_speeds())
        except (KerasZooError, ImportError) as error:
            devices, speeds = [str(error)], []
        packages = [f"{name} {_version(name)}" for name in PACKAGES if _version(name)]
        facts = {
            "versions": [f"keraszoo {__version__}, Python {platform.python_version()}", *packages],
            "devices": [_cpu(), *devices],
            "precisions": speeds,
            "extras": _missing_extras(),
            "models": _lines(_models),
            "disk": _lines(_disk),
        }
        if as_json:
            write([json.dumps(facts, ensure_ascii=False)])
            return
        for name, lines in facts.items():
            write(f"{name if i == 0 else '':<12}{line}" for i, line in enumerate(lines))


def _lines(facts):
    try:
        return list(facts())
    except (KerasZooError, OSError) as error:
        return [str(error)]


def _cpu():
    """The name of the CPU, the cores that this process may use, and the instructions that matter."""
    facts = {}
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name, flags = facts.get("model name", platform.machine()), facts.get("flags", "").split()
    fast = ", ".join(flag for flag in INSTRUCTIONS if flag in flags)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"CPU: {name}, {cores} cores{'; ' if fast else ''}{fast}"


def _devices():
    import keras

    if keras.backend.backend() == "jax":
        return keras.distribution.list_devices()
    import tensorflow as tf

    found = []
    for device in tf.config.list_physical_devices():
        if device.device_type != "CPU":
            details = tf.config.experimental.get_device_details(device)
            found.append(f"{device.name.removeprefix('/physical_device:')}: {details.get('device_name', '')}")
    return found or ["no GPU that TensorFlow can use"]


def _speeds():
    """A line for each precision: the speed of a matrix product, relative to float32."""
    from keraszoo.recipes.runs import product_speed

    speeds = {precision: product_speed(precision) for precision in PRECISIONS}
    for precision, speed in speeds.items():
        ratio = speed / speeds["float32"]
        note = f", {ratio:.1f} times float32" + ("" if ratio > 1.2 else ": not worth using here")
        yield f"{precision}: {speed:,.0f} GFLOP/s{note if precision != 'float32' else ' in a matrix product'}"


def _missing_extras():
    """A line for each extra with missing packages."""
    from packaging.requirements import Requirement

    try:
        texts = importlib.metadata.requires("keraszoo") or []
    except importlib.metadata.PackageNotFoundError:
        return ["keraszoo is not installed as a package, so its extras are unknown"]
    missing = {}
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.name == "keraszoo":
            continue
        extra = str(requirement.marker).rpartition("extra == ")[2].strip('"')
        version = _version(requirement.name)
        is_there = version and version in requirement.specifier
        if requirement.marker.evaluate({"extra": extra}) and not is_there:
            missing.setdefault(extra, []).append(requirement.name)
    lines = [f"{extra}: missing {', '.join(names)}" for extra, names in missing.items()]
    return lines or ["all are installed"]


def _version(package):
    """The version of an installed package, or an empty string."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _models():
    from keraszoo.shipping.shipped import list_models

    models = list_models()
    damaged = [model["name"] for model in models if "error" in model]
    here = sum(model["place"] is not None for model in models) - len(damaged)
    yield f"{here} of {len(models)} named models are here" + (f"; damaged: {damaged}" if damaged else "")


def _disk():
    from keraszoo.shipping.cache import cache_folder

    for name, place in ("current folder", Path.cwd()), ("cache", cache_folder()):
        existing = next(folder for folder in (place, *place.parents) if folder.exists())
        free = shutil.disk_usage(existing).free
        little = "; a training run may need more" if free < NEEDED else ""
        yield f"{free / 1e9:.1f} GB free for {place} ({name}){little}"
