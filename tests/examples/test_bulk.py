"""Workers on Ray answer every row once, in order, also if one of them is killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Ray and what it imports
pytest.importorskip("ray.data")
KILLED = "killed"


@pytest.fixture(scope="module")
def bulk():
    import bulk
    import ray

    ray.cloudpickle.register_pickle_by_value(bulk)  # workers cannot import it
    ray.init(num_cpus=2, include_dashboard=False)
    yield bulk
    ray.shutdown()


def stand_in(folder):
    """A worker that writes its process id to a folder for each batch, and answers in capitals."""

    class Slow:
        def __init__(self, model, engine):
            pass

        def __call__(self, batch):
            Path(folder, f"{os.getpid()}-{time.monotonic_ns()}").touch()
            time.sleep(0.3)
            return {**batch, "result": [text.upper() for text in batch["text"].tolist()]}

    return Slow


def rows_in(folder):
    import pyarrow.parquet as parquet

    tables = [parquet.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))]
    return [(row["key"], row["text"], row["result"]) for table in tables for row in table]


def test_nothing_is_lost_or_doubled_when_a_worker_is_killed(bulk, tmp_path, monkeypatch):
    pids, source = tmp_path / "pids", tmp_path / "lines"
    pids.mkdir()
    source.mkdir()
    wanted = []
    for shard in range(4):
        lines = [f"line {shard} {i} ü" for i in range(30 + shard)] + [""]
        (source / f"part{shard}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        wanted += [(f"part{shard}.txt:{i:09d}", x, x.upper()) for i, x in enumerate(lines, start=1)]
    monkeypatch.setattr(bulk, "ROWS", 10)
    monkeypatch.setattr(bulk, "BYTES", 20)
    monkeypatch.setattr(bulk, "Worker", stand_in(pids))

    def kill_one():
        while len(started := sorted(pids.iterdir(), key=lambda path: int(path.name.split("-")[1]))) < 4:
            time.sleep(0.05)
        os.kill(int(started[-1].name.split("-")[0]), signal.SIGKILL)
        (tmp_path / KILLED).touch()

    threading.Thread(target=kill_one, daemon=True).start()
    bulk.run("no model", str(source), str(tmp_path / "out"), workers=2)
    assert (tmp_path / KILLED).exists()
    assert len({path.name.split("-")[0] for path in pids.iterdir()}) == 3  # two, and one instead of the dead
    assert rows_in(tmp_path / "out") == wanted
    with pytest.raises(bulk.KerasZooError, match="out: expected a new folder"):
        bulk.run("no model", str(source), str(tmp_path / "out"))
    with pytest.raises(bulk.KerasZooError, match="expected workers with at most 2 CPUs in all, got 3"):
        bulk.run("no model", str(source), str(tmp_path / "new"), workers=3)


def test_parquet_in_parquet_out_by_a_model(bulk, tagger_directory, trained_tagger, tmp_path):
    import pyarrow
    import pyarrow.parquet as parquet

    texts = ["Ada Lovelace flew from Paris to New York .", "", "Nobody knew ."]
    (tmp_path / "texts").mkdir()
    table = pyarrow.table({"key": ["b", "a", "c"], "text": texts, "other": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "texts" / "0.parquet")
    bulk.run(str(tagger_directory), str(tmp_path / "texts"), str(tmp_path / "out"))
    answers = [bulk.as_json(entities) for entities in trained_tagger.tag(texts)]
    assert rows_in(tmp_path / "out") == list(zip("bac", texts, answers, strict=True))
