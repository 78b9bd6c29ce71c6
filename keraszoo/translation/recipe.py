"""A recipe: everything that decides what a training run makes, in one YAML file, checked before it starts.

    data:
      train: {source: train.en, target: train.de}
      validation: {source: val.en, target: val.de}
    model: {name: transformer, preset: small, overrides: {dropout: 0.3}}
    output: runs/small

Only `data.train` and `output` have no default.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from keraszoo.tasks.recipe_base import BaseModelSection, BaseRecipe, Count, FitSection, Fraction, Section
from keraszoo.tasks.recipe_file import FilePath
from keraszoo.translation.model_names import TRANSLATION_MODELS, TRANSLATION_PRESETS


class Pairs(Section):
    """Parallel text: two files, line by line, as `source` and `target`, or one file with tabs as `tsv`."""

    source: FilePath | None = None
    target: FilePath | None = None
    tsv: FilePath | None = None

    @model_validator(mode="after")
    def _two_files_or_one(self):
        given = {key for key in ("source", "target", "tsv") if getattr(self, key) is not None}
        if given not in ({"source", "target"}, {"tsv"}):
            came = " and ".join(sorted(given)) or "nothing"
            raise ValueError(f"expected `source` and `target`, or `tsv` alone, got {came}")
        return self


class DataSection(Section):
    """The corpora. Pairs with more than `max_length` subwords on a side are left out of training."""

    train: Pairs
    validation: Pairs | None = None
    test: Pairs | None = None
    max_length: Count = 100


class SubwordsSection(Section):
    """The subword vocabulary: trained on `data.train`, or brought along as sentencepiece models.

    A brought model is one file for both languages (`model`) or one for each (`source_model`, `target_model`).
    """

    type: Literal["bpe", "unigram"] = "bpe"
    vocabulary_size: Annotated[int, Field(ge=8)] = 8000
    joint: bool = True
    character_coverage: Annotated[float, Field(gt=0.9, le=1)] = 1.0
    model: FilePath | None = None
    source_model: FilePath | None = None
    target_model: FilePath | None = None

    @model_validator(mode="before")
    @classmethod
    def _two_models_are_not_joint(cls, values):
        if isinstance(values, dict) and values.get("source_model") is not None:
            return {"joint": False, **values}
        return values

    @model_validator(mode="after")
    def _trained_or_brought(self):
        if (self.source_model is None) != (self.target_model is None):
            raise ValueError("expected `source_model` and `target_model` together, got one of them")
        if self.model is not None and self.source_model is not None:
            raise ValueError("expected `model`, or `source_model` and `target_model`, got all three")
        if self.model is not None and not self.joint:
            raise ValueError("`model` is one vocabulary for both languages, but `joint` is false")
        if self.source_model is not None and self.joint:
            raise ValueError("`source_model` and `target_model` are two vocabularies, but `joint` is true")
        if self.model is not None or self.source_model is not None:
            self.refuse(("type", "vocabulary_size", "character_coverage"), "on a model that is brought along")
        return self


class ModelSection(BaseModelSection):
    """The model: a preset of sizes, and `overrides` for single arguments of its constructor.

    From the oldest: `rnnencdec` (Cho 2014), `deeplstm` (Sutskever 2014), `simplified` (RNNsearch without
    gates), `rnnsearch` (Bahdanau 2015), `luong` (Luong 2015), `transformer` (Vaswani 2017).
    """

    presets = TRANSLATION_PRESETS

    name: Literal[*TRANSLATION_MODELS] = "transformer"


class TrainingSection(FitSection):
    """How `fit` of a translator runs.

    `monitor` says what picks the weights that are kept: the BLEU of the held-out pairs, or their loss, which
    is had without any search.
    """

    label_smoothing: Fraction = 0.1
    monitor: Literal["val_bleu", "val_loss"] = "val_bleu"


class SearchSection(Section):
    """The search that validation, test and the saved model use, as `keraszoo.search.SearchOptions` has it."""

    beam_width: Count = 5
    max_length: Count = 100
    min_length: Annotated[int, Field(ge=0)] = 0
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    normalization: Literal["length", "gnmt"] = "length"
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    no_repeat_ngram: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _room_between_the_lengths(self):
        if self.min_length >= self.max_length:
            raise ValueError(f"`min_length` {self.min_length} is not below `max_length` {self.max_length}")
        return self


class Recipe(BaseRecipe):
    """Everything that decides what a training run of a translator makes.

    Files are `str`; a path that is relative in a recipe file is meant from where that file lies, `~` is the
    home directory and `${NAME}` an environment variable, `${NAME:-other}` with a value for where it is unset.

    Example:

    >>> recipe = Recipe.from_dict({"data": {"train": {"tsv": "pairs.tsv"}}, "output": "runs/one"})
    >>> recipe.data.train.tsv, recipe.training.optimizer.beta_2, recipe.search.beam_width
    ('pairs.tsv', 0.98, 5)
    >>> Recipe.from_dict({"data": {"train": {"tsv": "pairs.tsv"}}, "output": "runs", "serach": {}})
    Traceback (most recent call last):
    keraszoo.errors.RecipeError: recipe: serach: unknown key, did you mean search?
    """

    task: Literal["translation"] = "translation"
    data: DataSection
    subwords: SubwordsSection = SubwordsSection()
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()
    search: SearchSection = SearchSection()
    output: FilePath
