"""A recipe: everything that decides what a training run makes, in one YAML file, checked before it starts.

    data:
      train: {source: train.en, target: train.de}
      validation: {source: val.en, target: val.de}
    model: {name: transformer, preset: small, overrides: {dropout: 0.3}}
    output: runs/small

Only `data.train` and `output` have no default.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PrivateAttr, ValidationError, model_validator

from keraszoo.tasks.recipe_errors import recipe_error, unknown_key
from keraszoo.tasks.recipe_file import FilePath, read_yaml, set_value

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """What all sections share: unknown keys are errors, nothing is converted, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def refuse(self, keys, because):
        """Raises ValueError if one of `keys` was given a value that would be ignored."""
        for key in keys:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"`{key}` has no effect {because}; leave it out")


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


class ModelSection(Section):
    """The model: a preset of sizes, and `overrides` for single arguments of its constructor.

    From the oldest: `rnnencdec` (Cho 2014), `deeplstm` (Sutskever 2014), `simplified` (RNNsearch without
    gates), `rnnsearch` (Bahdanau 2015), `luong` (Luong 2015), `transformer` (Vaswani 2017).
    """

    name: Literal["transformer", "luong", "rnnsearch", "simplified", "deeplstm", "rnnencdec"] = "transformer"
    preset: str = "small"
    overrides: dict[str, JsonValue] = {}


class OptimizerSection(Section):
    """Adam and the course of its learning rate.

    `schedule` is one of

    - `transformer`: Vaswani 2017, equation 3, times `factor` (1.0), with `warmup_steps` (4000);
    - `inverse_sqrt`: linearly up to `learning_rate` (0.0007) in `warmup_steps` (4000), then as 1/sqrt(step);
    - `constant`: `learning_rate` (0.001) throughout.
    """

    schedule: Literal["transformer", "inverse_sqrt", "constant"] = "inverse_sqrt"
    learning_rate: Positive | None = None
    factor: Positive | None = None
    warmup_steps: Count | None = None
    beta_1: Fraction = 0.9
    beta_2: Fraction = 0.98
    epsilon: Positive = 1e-9
    clipnorm: Positive | None = None

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_schedule(cls, values):
        if not isinstance(values, dict):
            return values
        schedule = values.get("schedule", cls.model_fields["schedule"].default)
        defaults = {
            "transformer": {"factor": 1.0, "warmup_steps": 4000},
            "inverse_sqrt": {"learning_rate": 7e-4, "warmup_steps": 4000},
            "constant": {"learning_rate": 1e-3},
        }.get(schedule if isinstance(schedule, str) else "", {})
        missing = {key: value for key, value in defaults.items() if values.get(key) is None}
        return {**values, **missing}

    @model_validator(mode="after")
    def _only_what_the_schedule_reads(self):
        ignored = {
            "transformer": ["learning_rate"],
            "inverse_sqrt": ["factor"],
            "constant": ["factor", "warmup_steps"],
        }
        self.refuse(ignored[self.schedule], f"with schedule {self.schedule}")
        return self


class TrainingSection(Section):
    """How `fit` runs.

    `steps` ends training early, in the middle of an epoch if need be. Validation is once an epoch, or every
    `steps_per_evaluation` updates. `monitor` says what picks the weights that are kept: the BLEU of the
    held-out pairs, or their loss, which is had without any search; `patience` counts evaluations in which it
    was not better. `average_last` is the number of checkpoints whose weights are averaged in the end; 1
    averages nothing. `jit_compile: null` has the steps compiled by XLA where the backend always does that,
    on JAX. XLA compiles a program for each shape of a batch: `shapes` is how many pairs of lengths batches
    are padded to, fewer for less to compile, more for less padding; `null` is 16 under XLA, and without it no
    limit, each batch being as long as its longest sentence.
    """

    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    batch_tokens: Count = 4096
    epochs: Count = 30
    steps: Count | None = None
    steps_per_evaluation: Count | None = None
    optimizer: OptimizerSection = Field(default_factory=lambda: OptimizerSection.model_validate({}))
    label_smoothing: Fraction = 0.1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    jit_compile: bool | None = None
    shapes: Count | None = None
    monitor: Literal["val_bleu", "val_loss"] = "val_bleu"
    patience: Count | None = None
    average_last: Count = 1
    tensorboard: bool = False


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


class Recipe(Section):
    """Everything that decides what a training run makes.

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

    data: DataSection
    subwords: SubwordsSection = SubwordsSection()
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()
    search: SearchSection = SearchSection()
    output: FilePath

    _where: str = PrivateAttr(default="recipe")

    @model_validator(mode="after")
    def _sections_that_need_each_other(self):
        if self.data.validation is None:
            for key in ("patience", "steps_per_evaluation", "monitor"):
                if getattr(self.training, key) != TrainingSection.model_fields[key].default:
                    raise ValueError(f"`training.{key}` needs `data.validation`, which is missing")
        if self.model.name != "transformer" and self.training.optimizer.schedule == "transformer":
            raise ValueError(
                "`training.optimizer.schedule: transformer` is computed from d_model, which "
                f"{self.model.name} has not; expected inverse_sqrt or constant"
            )
        return self

    @classmethod
    def read(cls, path, overrides=()):
        """Reads a recipe from a YAML file.

        Args:
            path: the file.
            overrides: strings such as `"training.seed=3"`, which replace or add single values; what stands
                right of the `=` is read as YAML.

        Returns:
            The Recipe, its paths resolved.

        Raises:
            RecipeError: one line with every problem: file and line, key, what was expected and what came.
        """
        values, lines = read_yaml(path)
        for override in overrides:
            set_value(values, override, lines)
        return cls._checked(values, str(path), lines, folder=path)

    @classmethod
    def from_dict(cls, values):
        """Makes a recipe of a dictionary, as `as_dict` returns it; its paths are left as they are.

        Raises:
            RecipeError: as `read`.
        """
        return cls._checked(values, "recipe", {}, folder=None)

    @classmethod
    def _checked(cls, values, where, lines, folder):
        try:
            recipe = cls.model_validate(values, context={"recipe_file": folder})
        except ValidationError as error:
            raise recipe_error(error.errors(), cls, where, lines) from None
        recipe._where = where
        return recipe

    def as_dict(self):
        """All values, defaults too, as JSON has them; paths as they were written, not where they led.

        So no folder of this machine gets into the directory of a model, unless the recipe itself names it.
        """
        return self.model_dump(mode="json")

    def check_overrides(self, allowed):
        """Holds `model.overrides` against the arguments that the model's constructor takes.

        Args:
            allowed: the names of these arguments.

        Raises:
            RecipeError: for the first that is not among them, with the nearest name.
        """
        for key in self.model.overrides:
            if key not in allowed:
                raise unknown_key(f"{self._where}: model.overrides.{key}", key, allowed)
