"""Runs a recipe with several seeds, and reports means and standard deviations.

The F1 of one tagger differs by up to a point between two seeds.

Reference: Reimers, Gurevych: Reporting Score Distributions Makes a Difference, 2017,
https://aclanthology.org/D17-1035.
"""

import dataclasses
import json
import statistics

from keraszoo.errors import RecipeError
from keraszoo.recipes.file import with_ending
from keraszoo.recipes.runs import make_devices, run_recipe
from keraszoo.saving.atomic import replace_file


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure of several runs: its name, and a list with its value in each run."""

    name: str
    values: list

    def as_dict(self):
        """The mean, the standard deviation of the sample, with n - 1 (0 for a single run), and the values."""
        deviation = statistics.stdev(self.values) if len(self.values) > 1 else 0.0
        return {"mean": statistics.fmean(self.values), "deviation": deviation, "values": self.values}

    def __str__(self):
        values = "  ".join(f"{value:.2f}" for value in self.values)
        return f"{self.name:<20}  {mean_and_deviation(self.values):>13}   ({values})"


def mean_and_deviation(values):
    """Formats the mean of a figure over several runs, with its standard deviation if there are several.

    >>> mean_and_deviation([1.0, 2.0]), mean_and_deviation([1.0])
    ('1.50 ± 0.71', '1.00')
    """
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def recipes_of_seeds(recipe, count):
    """Returns the recipe of each run: the seeds count up, and `_seed1` and so on is added to the output."""
    settings, where = recipe.training.model_dump(), f"{recipe.place()}: training"
    first = recipe.training.seed
    recipes = []
    for seed in range(first, first + count):
        training = type(recipe.training).checked({**settings, "seed": seed}, where)
        output = with_ending(recipe.output, f"_seed{seed}")
        recipes.append(recipe.model_copy(update={"training": training, "output": output}))
    return recipes


def run_seeds(recipe, count, report=None):
    """Trains a recipe with `count` seeds: its own, the next one, and so on; returns a list of `Figure`.

    Each run writes a directory, the recipe's `output` with `_seed1` and so on; `report` is called with
    it. The figures are those of the test corpus if the recipe has one, otherwise of the validation; they
    are also written as JSON to `output` with `_seeds.json`.

    Raises RecipeError: there is neither a test nor a validation corpus, or a seed is too large.
    """
    from keraszoo.training.distribution import writes

    part = "test" if recipe.data.test is not None else "validation"
    if getattr(recipe.data, part) is None:
        said = "several seeds are compared on `data.test` or `data.validation`; both are missing"
        raise RecipeError(f"{recipe.place()}: {said}")
    scores = []
    for one in recipes_of_seeds(recipe, count):  # all are checked before the first run
        scores.append(_scores(run_recipe(one).metrics[part]))
        if report is not None:
            report(one.path(one.output))
    figures = [Figure(name, [score[name] for score in scores]) for name in scores[0]]
    summary = {figure.name: figure.as_dict() for figure in figures}
    if writes(make_devices(recipe)):
        with replace_file(f"{recipe.path(recipe.output)}_seeds.json") as file:
            file.write(f"{json.dumps({'part': part, 'figures': summary}, indent=2)}\n".encode())
    return figures


def _scores(figures):
    """The numbers among the figures of a part, by name."""
    scores = {}
    for name, figure in figures.items():
        value = figure.get("score") if isinstance(figure, dict) else figure
        if isinstance(value, float) and name != "averaged":  # a number of weights, which some runs lack
            scores[name] = value
    return scores
