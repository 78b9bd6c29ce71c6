"""The same recipe under several seeds: a figure without its deviation says little.

Two seeds of one tagger lie up to a point of F1 apart, and two taggers that differ by less may not differ at
all.

Reference: Reimers, Gurevych: Reporting Score Distributions Makes a Difference, 2017,
https://aclanthology.org/D17-1035.
"""

import dataclasses
import json
import statistics

from keraszoo.errors import RecipeError
from keraszoo.saving.whole_file import whole_file
from keraszoo.tasks.fitting import writes_files
from keraszoo.tasks.recipe_tasks import read_recipe, run


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure of several runs.

    Attributes:
        name: of the figure.
        values: list of float, one for each run.
    """

    name: str
    values: list

    @property
    def mean(self):
        """The mean."""
        return statistics.fmean(self.values)

    @property
    def deviation(self):
        """The standard deviation of the sample, with n - 1; 0 of a single run."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    def __str__(self):
        values = "  ".join(f"{value:.2f}" for value in self.values)
        return f"{self.name:<20}  {mean_and_deviation(self.values):>13}   ({values})"


def mean_and_deviation(values):
    """The mean of a figure of several runs, with its standard deviation if there is one, as text.

    >>> mean_and_deviation([1.0, 2.0]), mean_and_deviation([1.0])
    ('1.50 ± 0.71', '1.00')
    """
    figure = Figure("", values)
    return f"{figure.mean:.2f} ± {figure.deviation:.2f}" if len(values) > 1 else f"{figure.mean:.2f}"


def run_seeds(path, overrides, count, report=None):
    """Trains a recipe with `count` seeds: its own, the next one, and so on.

    Args:
        path: the recipe's file.
        overrides: as for `read_recipe`.
        count: of the runs; each writes a directory, `_seed1` and so on added to the recipe's `output`.
        report: called with the directory of each run when it is over.

    Returns:
        List of `Figure`, of the test corpus if the recipe has one, else of the validation. They are written
        as JSON beside the directories, `_seeds.json` added to `output`.

    Raises:
        RecipeError: as `read_recipe`; or there is neither a test nor a validation corpus.
    """
    recipe = read_recipe(path, overrides)
    part = "test" if recipe.data.test is not None else "validation"
    if getattr(recipe.data, part) is None:
        raise RecipeError(
            f"{path}: several seeds are compared on `data.test` or `data.validation`; both are missing"
        )
    found = []
    for seed in range(recipe.training.seed, recipe.training.seed + count):
        output = f"{getattr(recipe.output, 'written', recipe.output)}_seed{seed}"
        own = [*overrides, f"training.seed={seed}", f"output={json.dumps(output)}"]
        checked = read_recipe(path, own)
        found.append(_scores(run(checked).metrics[part]))
        if report is not None:
            report(checked.output)
    figures = [Figure(name, [scores[name] for scores in found]) for name in found[0]]
    summary = {f.name: {"mean": f.mean, "deviation": f.deviation, "values": f.values} for f in figures}
    if writes_files(recipe.training):
        with whole_file(f"{recipe.output}_seeds.json") as file:
            file.write(f"{json.dumps({'part': part, 'figures': summary}, indent=2)}\n".encode())
    return figures


def _scores(figures):
    """The numbers among the figures of a part, by name."""
    scores = {}
    for name, figure in figures.items():
        value = figure.get("score") if isinstance(figure, dict) else figure
        if isinstance(value, float):
            scores[name] = value
    return scores
