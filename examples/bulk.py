"""Translates or tags any number of lines with Ray Data, on one machine or on a cluster.

    pip install --editable '.[bulk]'
    python examples/bulk.py tatoeba_en_de_transformer lines/ translated/ --workers 2
    python examples/bulk.py english_entities texts/ tagged/ --workers 2

The input is a folder of `.txt` files with a text a line, or of `.parquet` files with the columns `key` and
`text`. The output is a new folder of Parquet files with `key`, `text` and `result`, in the order of the
input; a result is the translation, or the entities as JSON. The key of a line is `file:number`.

Each worker loads the model once and takes `ROWS` rows at a time; the model groups them by length. If a worker
dies, Ray starts another one and gives it the same rows. docs/distributed.md has more.
"""

import argparse
import json
import os
from pathlib import Path

try:
    import ray
except ImportError:
    raise SystemExit("bulk.py needs Ray Data: pip install --editable '.[bulk]'") from None

from keraszoo.errors import KerasZooError

ROWS = 1024  # that a worker takes at a time
BYTES = 64  # of a row, roughly
WORK, REST = (
    0.75,
    0.25,
)  # of a CPU: for a worker and for a task that reads or writes, so that these never wait


class Worker:
    """A process with a model that answers batches of rows."""

    def __init__(self, model, engine):
        if engine == "ctranslate2":
            from keraszoo.cli.translator import load

            self.answer = load(model, engine).translate
            return
        import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
        from keraszoo import EntityTagger, Translator
        from keraszoo.cli.app import task

        if task(model) == "tagging":
            tagger = EntityTagger.from_preset(model)
            self.answer = lambda texts: [as_json(entities) for entities in tagger.tag(texts)]
        else:
            self.answer = Translator.from_preset(model).translate

    def __call__(self, batch):
        return {**batch, "result": self.answer([str(text) for text in batch["text"]])}


def as_json(entities):
    """The entities of a text as a string."""
    return json.dumps([entity.as_dict() for entity in entities], ensure_ascii=False)


def lines_of(file):
    """The rows of a text file."""
    text = file["bytes"].decode("utf-8-sig")
    lines = text.removesuffix("\n").split("\n") if text else []
    name = os.path.basename(file["path"])
    return [{"key": f"{name}:{i:09d}", "text": line.rstrip("\r")} for i, line in enumerate(lines, start=1)]


def read(folder):
    """The rows of a folder as a `ray.data.Dataset`; `folder` may be a URL such as `s3://bucket/lines`."""
    try:
        columns = ["key", "text"]
        return ray.data.read_parquet(folder, file_extensions=["parquet"], columns=columns, num_cpus=REST)
    except (ValueError, FileNotFoundError):
        options = {"include_paths": True, "file_extensions": ["txt"], "num_cpus": REST}
        return ray.data.read_binary_files(folder, **options).flat_map(lines_of, num_cpus=REST)


def run(model, source, target, workers=1, cpus=1, engine="keras"):
    """Answers all rows of a folder.

    Args:
        model: directory or name of a translator or tagger, which every machine can read.
        source, target: the folders; `target` must not exist.
        workers: how many processes answer.
        cpus: of each of them.
        engine: of a translator, `"keras"` or `"ctranslate2"`.

    Raises:
        KerasZooError: `target` exists, or there are fewer CPUs.
    """
    if Path(target).exists():
        raise KerasZooError(f"{target}: expected a new folder")
    ray.is_initialized() or ray.init()
    there = ray.cluster_resources()["CPU"]
    if workers * cpus > there:
        raise KerasZooError(f"expected workers with at most {there:.0f} CPUs in all, got {workers * cpus}")
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.target_max_block_size = ROWS * BYTES
    threads = {"TF_NUM_INTRAOP_THREADS": "1", "OMP_NUM_THREADS": str(cpus)}
    rows = read(source).map_batches(
        Worker,
        fn_constructor_args=(model, engine),
        batch_size=ROWS,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=WORK * cpus,
        runtime_env={"env_vars": threads},
    )
    rows.write_parquet(target, min_rows_per_file=100 * ROWS, ray_remote_args={"num_cpus": REST})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("model", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cpus", type=int, default=1, help="of each worker")
    parser.add_argument("--engine", choices=["keras", "ctranslate2"], default="keras")
    try:
        run(**vars(parser.parse_args()))
    except KerasZooError as error:
        raise SystemExit(str(error)) from None
