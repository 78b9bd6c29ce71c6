"""What the recipes of all tasks share: how they are read and checked, and how `fit` runs."""

from typing import Annotated, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from keraszoo.errors import PresetError
from keraszoo.saving.model_facts import check_facts
from keraszoo.tasks.recipe_errors import recipe_error, suggestion, unknown_key
from keraszoo.tasks.recipe_file import read_yaml, set_value

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


class BaseModelSection(Section):
    """Which model, of which sizes; a section of a task lists the names, and the presets of each.

    `preset: null` is the first of the model's presets.
    """

    presets: ClassVar[dict] = {}

    name: str
    preset: Annotated[str | None, Field(validate_default=True)] = None
    overrides: dict[str, JsonValue] = {}

    @field_validator("preset")
    @classmethod
    def _one_that_there_is(cls, preset, info):
        known = cls.presets.get(info.data.get("name"))  # a wrong name is an error of its own
        if known is None or preset in known:
            return preset
        if preset is None:
            return known[0]
        raise ValueError(f"{info.data['name']} has no preset {preset!r}{suggestion(preset, known)}")


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


class FitSection(Section):
    """How `fit` runs, whatever is trained.

    `steps` ends training early, in the middle of an epoch if need be. Validation is once an epoch, or every
    `steps_per_evaluation` updates; `patience` counts evaluations that were not better. `average_last` is the
    number of checkpoints whose weights are averaged in the end; 1 averages nothing. `jit_compile: null` has
    the steps compiled by XLA where the backend always does that, on JAX. XLA compiles a program for each
    shape of a batch: `shapes` is how many lengths (of translations: pairs of lengths) batches are padded to,
    fewer for less to compile, more for less padding; `null` is 16 under XLA, and without it no limit, each
    batch being as long as its longest sentence.

    `precision: mixed_bfloat16` computes in half the bits and keeps weights in float32; `mixed_float16` also
    multiplies the loss by a scale that keeps small gradients from vanishing, and leaves out a step whose
    gradient overflows.

    On a CPU a run can be repeated bit by bit. `deterministic: true` has a GPU do that, too, at a price in
    speed.

    `strategy: mirrored` trains on `replicas` GPUs, all of them by default, each computing on its share of
    every batch; where there is none, on as many parts of the CPU. `strategy: workers` is the same on several
    machines (docs/distributed.md). `accumulate` is the number of parts in which a batch goes through a device
    that cannot hold it whole. Neither changes what is learned, but for dropout, which leaves out other
    numbers on each device and in each part. `checkpoint_minutes` and `checkpoint_steps` say how often a run
    is saved between two evaluations; it is after each of them, too.
    """

    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    batch_tokens: Count = 4096
    epochs: Count = 30
    steps: Count | None = None
    steps_per_evaluation: Count | None = None
    optimizer: OptimizerSection = Field(default_factory=lambda: OptimizerSection.model_validate({}))
    deterministic: bool = False
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = "float32"
    jit_compile: bool | None = None
    shapes: Count | None = None
    patience: Count | None = None
    average_last: Count = 1
    strategy: Literal["mirrored", "workers"] | None = None
    replicas: Count | None = None
    accumulate: Count = 1
    checkpoint_minutes: Positive = 10.0
    checkpoint_steps: Count | None = None
    tensorboard: bool = False

    @classmethod
    def checked(cls, settings):
        """Settings of `fit`, a dictionary, as this section of a recipe.

        Raises:
            RecipeError: an unknown setting, or one of the wrong type or out of range.
        """
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise recipe_error(error.errors(), cls, "fit", {}) from None

    def given_of(self, *keys):
        """The first of some settings that is not its default; None if all are."""
        fields = type(self).model_fields
        return next((key for key in keys if getattr(self, key) != fields[key].default), None)

    def deciding(self):
        """All values, as JSON has them, but those that change nothing of what is learned."""
        return self.model_dump(mode="json", exclude={"checkpoint_minutes", "checkpoint_steps", "tensorboard"})


class BaseRecipe(Section):
    """Base of the recipes; one has the sections `data` (with `validation`), `model` and `training`.

    `about` is what no program can know of the model, for its card: licence, languages, data, intended use;
    `keraszoo.saving.model_facts` lists them. They decide nothing: a run resumes although they changed.
    """

    about: dict[str, JsonValue] = {}

    _where: str = PrivateAttr(default="recipe")
    _lines: dict = PrivateAttr(default={})

    @field_validator("about")
    @classmethod
    def _facts_that_there_are(cls, about):
        try:
            return check_facts(about, "about")
        except PresetError as error:
            raise ValueError(str(error).removeprefix("about: ")) from None

    @model_validator(mode="after")
    def _sections_that_need_each_other(self):
        if self.data.validation is None:
            key = self.training.given_of("patience", "steps_per_evaluation", "monitor")
            if key is not None:
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
        recipe._where, recipe._lines = where, lines
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
                place = self._lines.get(("model", "overrides", key), self._where)
                raise unknown_key(f"{place}: model.overrides.{key}", key, allowed)
