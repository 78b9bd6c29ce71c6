"""A recipe's run that can be stopped at any time, and is taken up by the same call."""

from pathlib import Path

from keraszoo.messages import say
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.distribution import make_strategy, writes


def resumable(recipe, run, load):
    """Trains as a recipe says, or goes on where an earlier call was stopped, also by `kill -9`.

    Checkpoints are in the folder `<output>.checkpoints`. When all is done a note there says so, and the next
    call does nothing but load.

    Args:
        recipe: a recipe of any task.
        run: called with the recipe and the open `Checkpoints`; trains, and calls their `finish` when all is
            saved.
        load: called with the output directory of a run that is finished.

    Returns:
        What `run` or `load` returns.

    Raises:
        KerasZooError: another recipe than the one that a run in `<output>.checkpoints` began with; and as
            `run`.
        KeyboardInterrupt, SystemExit: after Ctrl-C, or with 143 after SIGTERM, when all is saved.
    """
    # First of all: a CPU is split, and workers meet, before anything is computed.
    strategy = make_strategy(recipe.training.strategy, recipe.training.replicas)
    deciding = {**recipe.as_dict(), "training": recipe.training.deciding()}
    del deciding["output"], deciding["about"]  # a run may be moved, and spoken of in other words
    identity = {"recipe": deciding}
    checkpoints = Checkpoints(f"{recipe.output}.checkpoints", identity, writes=writes(strategy))
    with checkpoints.open():
        if not checkpoints.finished:
            return run(recipe, checkpoints)
        if not Path(recipe.output).exists():
            checkpoints.forget()
            return run(recipe, checkpoints)
    say(f"this run is finished; delete {checkpoints.folder} to make it anew")
    return load(recipe.output)
