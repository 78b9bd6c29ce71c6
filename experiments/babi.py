"""Answers questions about short stories: end-to-end memory networks (Sukhbaatar et al., 2015) on bAbI.

    python experiments/babi.py --data tasks_1-20_v1-2/en                # one network per task
    python experiments/babi.py --data tasks_1-20_v1-2/en --joint        # one network for all tasks
    python experiments/babi.py --data tasks_1-20_v1-2/en --model babi_memory_network    # score a trained one

The data (CC BY 3.0) has 1,000 training and 1,000 test questions per task; files may be gzipped. Each network
is trained from several random starts, and the one with the lowest loss on the training file is kept; a tenth
of that file is held out. The table prints the share of wrong answers and the paper's figures.

The first command reached a mean error of 14.05 % with 11 tasks above 5 % (the paper: 13.85 % and 11) in 41
minutes on 2 cores. One start of a task with short stories takes 2.5 seconds of
processor time. With fewer starts a task may fail: seven of ten starts learn task 16, three do not. The second
command, with one start, reached 12.38 % with 9 tasks above 5 % (the paper: 12.39 % and 11, the best of ten
starts) in 4 minutes.
"""

import argparse
import json
import re
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import QuestionAnswerer
from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.babi import read_questions

# Errors in per cent by task, from table 1 of the paper: three hops, position encoding, linear start, noise.
PAPER = "0.0 8.3 40.3 2.8 13.1 7.6 17.3 10.0 13.2 15.1 0.9 0.2 0.4 1.7 0.0 1.3 51.0 11.1 82.8 0.0"
PAPER_JOINT = "0.0 11.4 21.9 13.4 14.4 2.8 18.3 9.3 1.9 6.5 0.3 0.1 0.2 6.9 0.0 2.7 40.4 9.4 88.0 0.0"
JOINT = {"epochs": 60, "linear_epochs": 30, "halve_every": 15}

FILE = re.compile(r"qa(\d+)_(.+)_(train|test)\.txt(?:\.gz)?")


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", required=True, help="folder of qa1_..._train.txt and so on, plain or gzipped"
    )
    parser.add_argument("--joint", action="store_true", help="one network for all tasks")
    parser.add_argument("--model", help="do not train: score a directory or an included model of all tasks")
    parser.add_argument("--restarts", type=int, help="random starts; default 10, or 1 with --joint")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("runs/babi"))
    parser.add_argument("--json", action="store_true", help="with --model: print a line of JSON")
    options = parser.parse_args()
    if options.model and (options.joint or options.restarts):
        parser.error("--joint and --restarts are for training, not for --model")
    return options


def main():
    """Reads, trains, scores and saves."""
    options = arguments()
    started = time.perf_counter()
    tasks = find_tasks(options.data)
    train = {number: read_questions(files[1]) for number, files in tasks.items()}
    test = {number: read_questions(files[2]) for number, files in tasks.items()}
    if options.model:
        answerer = QuestionAnswerer.from_preset(options.model)
        errors = {number: answerer.error_rate(test[number]) for number in tasks}
        if options.json:
            figures = {f"task {number}": error for number, error in errors.items()}
            print(json.dumps({**figures, "mean": sum(errors.values()) / len(errors)}))
        else:
            print_table(tasks, errors, PAPER_JOINT)
        return

    width = 50 if options.joint else 20
    settings = {"seed": options.seed, "restarts": options.restarts or (1 if options.joint else 10)}
    if options.joint:
        settings |= JOINT

    errors = {}
    for numbers in [list(tasks)] if options.joint else [[number] for number in tasks]:
        questions = [question for number in numbers for question in train[number]]
        answerer = QuestionAnswerer.for_questions(questions, width=width)
        starts = answerer.fit(questions, **settings)
        directory = options.output / ("joint" if options.joint else f"task_{numbers[0]}")
        for number in numbers:
            errors[number] = answerer.error_rate(test[number])
        figures = {f"task {n}": errors[n] for n in numbers}
        mean = sum(figures.values()) / len(figures)
        answerer.metrics["test error, per cent"] = {**figures, "mean": mean}
        answerer.save_to_preset(directory)
        losses = " ".join(f"{start['loss']:.3f}/{start['validation_loss']:.3f}" for start in starts)
        print(f"{directory}: training/validation loss of each start: {losses}", flush=True)

    print_table(tasks, errors, PAPER_JOINT if options.joint else PAPER)
    print(f"Finished in {(time.perf_counter() - started) / 60:.1f} minutes")


def find_tasks(directory):
    """Finds the bAbI files of a directory, named `qa<number>_<name>_<train or test>.txt`, plain or `.gz`.

    Args:
        directory: the directory.

    Returns:
        Dict of number -> `(name, train, test)`, sorted by number: a name such as "single supporting fact",
        and two paths.

    Raises:
        DataError: there is no such directory, no such file, or one file of a task is missing.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise DataError("no such directory", directory)
    tasks = {}
    for path in sorted(directory.iterdir()):
        if match := FILE.fullmatch(path.name):
            task = tasks.setdefault(int(match[1]), {"name": match[2].replace("-", " ")})
            task[match[3]] = path
    if not tasks:
        raise DataError("expected files such as qa1_single-supporting-fact_train.txt, got none", directory)
    for number, task in tasks.items():
        for part in ("test", "train"):
            if part not in task:
                raise DataError(f"task {number} has no {part} file", directory)
    return {number: (task["name"], task["train"], task["test"]) for number, task in sorted(tasks.items())}


def print_table(tasks, errors, paper):
    """Prints test errors and those of the paper, which has the twenty tasks."""
    print("\ntask                          error %   paper")
    paper = dict(enumerate(map(float, paper.split()), start=1))
    rows = [(f"{n} {tasks[n][0]}", errors[n], paper.get(n, float("nan"))) for n in tasks]
    mean = [sum(row[i] for row in rows) / len(rows) for i in (1, 2)]
    for name, ours, theirs in [*rows, ("mean", *mean)]:
        print(f"{name:28}  {ours:7.1f}  {theirs:6.1f}")
    failed = [sum(row[i] > 5 for row in rows) for i in (1, 2)]
    print(f"{'failed tasks (above 5 %)':28}  {failed[0]:7}  {failed[1]:6}\n")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None
