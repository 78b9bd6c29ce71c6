"""Base classes of recipes: sections, the settings of `fit`, and how a recipe is read and checked."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, PrivateAttr, field_validator, model_validator

from keraszoo.errors import RecipeError, plain_number
from keraszoo.messages import suggestion
from keraszoo.recipes.file import Preset, read_values, resolve, resolve_preset
from keraszoo.registry import model_arguments, model_classes, models_of
from keraszoo.saving.entries import Entries, checked
from keraszoo.saving.model_facts import Facts

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]


class Section(Entries, frozen=True):
    """Base class of all sections: unknown keys are errors, values are not converted and do not change."""

    @classmethod
    def checked(cls, settings, where="fit"):
        """Makes this section from a dict; `where` it comes from begins the message of a RecipeError."""
        return checked(cls, {key: plain_number(value) for key, value in settings.items()}, where, RecipeError)

    def refuse(self, keys, because):
        """Raises ValueError if one of `keys` has a value that would be ignored."""
        key = self.given_of(*keys)
        if key is not None:
            raise ValueError(f"`{key}` has no effect {because}; leave it out")

    def given_of(self, *keys):
        """The first of these settings that differs from its default; None if all are defaults."""
        fields = type(self).model_fields
        return next((key for key in keys if getattr(self, key) != fields[key].default), None)


class BaseModelSection(Section):
    """The model, its preset of sizes, and `overrides` for single arguments; a task restricts `name`.

    `preset: null` is the default preset of the model.
    """

    task: ClassVar[str]

    name: str
    preset: str | None = None
    overrides: dict[str, JsonValue] = {}
    start_from: Preset | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_preset(cls, values):
        if not isinstance(values, dict) or values.get("preset") is not None:
            return values
        row = models_of(cls.task).get(str(values.get("name", cls.model_fields["name"].default)))
        return {**values, "preset": row and row.preset}


# For each schedule: the settings that it reads in addition to Adam's, with their defaults.
SCHEDULES = {
    "transformer": {"factor": 1.0, "warmup_steps": None},
    "inverse_sqrt": {"learning_rate": 7e-4, "warmup_steps": None},
    "cosine": {"learning_rate": 7e-4, "warmup_steps": None},
    "constant": {"learning_rate": 1e-3},
}
Schedule = Literal[*SCHEDULES]


class OptimizerSection(Section):
    """Adam and its learning-rate schedule.

    `schedule` is one of

    - `transformer`: Vaswani 2017, equation 3, times `factor` (1.0), with `warmup_steps`;
    - `inverse_sqrt`: linearly up to `learning_rate` (0.0007) in `warmup_steps`, then as 1/sqrt(step);
    - `cosine`: linearly up to `learning_rate` (0.0007) in `warmup_steps`, then as a cosine to 0 at the end;
    - `constant`: `learning_rate` (0.001) throughout.

    `warmup_steps: null` is a tenth of the run's updates, at most 4000. As in Keras, `clipnorm` bounds the
    norm of the gradient of each weight, and `global_clipnorm` that of all weights together; at most one is
    given. `weight_decay` shrinks matrices by this share of the learning rate in each update, but no biases
    and no weights of normalisation (Loshchilov and Hutter 2019).
    """

    schedule: Schedule = "inverse_sqrt"
    learning_rate: Positive | None = None
    factor: Positive | None = None
    warmup_steps: Count | None = None
    beta_1: Fraction = 0.9
    beta_2: Fraction = 0.98
    epsilon: Positive = 1e-9
    clipnorm: Positive | None = None
    global_clipnorm: Positive | None = None
    weight_decay: Fraction = 0.0

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_schedule(cls, values):
        if not isinstance(values, dict):
            return values
        schedule = values.get("schedule", cls.model_fields["schedule"].default)
        defaults = SCHEDULES.get(schedule if isinstance(schedule, str) else "", {})
        missing = {key: value for key, value in defaults.items() if values.get(key) is None}
        if values.get("clipnorm") is not None:
            missing |= {"global_clipnorm": values.get("global_clipnorm")}  # not the default of the section
        return {**values, **missing}

    @model_validator(mode="after")
    def _only_what_the_schedule_reads(self):
        if None not in (self.clipnorm, self.global_clipnorm):
            raise ValueError("`clipnorm` and `global_clipnorm` exclude each other; give one of them")
        ignored = {key for read in SCHEDULES.values() for key in read} - set(SCHEDULES[self.schedule])
        self.refuse(sorted(ignored), f"with schedule {self.schedule}")
        return self


class FitSection(Section):
    """The settings of `fit`, for every task.

    `steps` ends training early, even within an epoch. A period, which ends with an evaluation, is an epoch or
    `steps_per_evaluation` updates. `patience` counts periods without improvement. `average_last` is the
    number of periods whose last weights are averaged at the end; 1 averages nothing.

    `jit_compile: null` compiles the steps by XLA on JAX only. XLA compiles one program for each shape of a
    batch. `shapes` is the number of lengths (for translation: pairs of lengths) that batches are padded to;
    fewer lengths mean less to compile and more padding. `null` is 16 under XLA; without XLA, each batch is as
    long as its longest sentence.

    `precision: mixed_bfloat16` computes in half the bits and keeps weights in float32. `mixed_float16` also
    scales the loss, so that small gradients do not vanish, and skips a step whose gradient overflows.

    On a CPU, a run repeats bit by bit. `deterministic: true` makes a GPU do so, too, at a price in speed.

    `strategy: mirrored` trains on `replicas` GPUs, all of them by default, each on its share of every batch;
    without GPUs, on as many parts of the CPU. `strategy: workers` does the same on several machines, and
    `strategy: data_parallel` on the devices of one machine with the backend JAX (docs/distributed.md).
    `accumulate` is the number of parts of a batch that go through a device one after the other. Neither
    changes what is learned, except for dropout, which draws other masks on each device of TensorFlow and in
    each part. `checkpoint_minutes` and `checkpoint_steps` say how often a run is saved between two
    evaluations; it is also saved after each evaluation.
    """

    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    batch_tokens: Count = 4096
    epochs: Count = 30
    steps: Count | None = None
    steps_per_evaluation: Count | None = None
    optimizer: OptimizerSection = OptimizerSection()
    deterministic: bool = False
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = "float32"
    jit_compile: bool | None = None
    shapes: Count | None = None
    patience: Count | None = None
    average_last: Count = 1
    strategy: Literal["mirrored", "workers", "data_parallel"] | None = None
    replicas: Count | None = None
    accumulate: Count = 1
    checkpoint_minutes: Positive = 10.0
    checkpoint_steps: Count | None = None
    tensorboard: bool = False

    @model_validator(mode="after")
    def _settings_that_exclude_each_other(self):
        if self.strategy in ("mirrored", "workers") and self.jit_compile:
            raise ValueError(
                f"`jit_compile: true` does not work with `strategy: {self.strategy}`; leave it out"
            )
        return self

    def deciding(self):
        """All values that affect what is learned, as JSON, except for the length of the run.

        A longer run begins like a shorter one, unless the learning rate depends on the length; then the
        optimizers differ.
        """
        others = {"checkpoint_minutes", "checkpoint_steps", "tensorboard", "epochs", "steps"}
        return self.model_dump(mode="json", exclude=others)


class BaseRecipe(Section):
    """Base class of recipes, which have the sections `data` (with `validation`), `model` and `training`.

    Paths are text, as in the file. In a recipe file, a relative path starts from the folder of that file, `~`
    is the home directory, `${NAME}` an environment variable, and `${NAME:-other}` one with a default value.
    `path` and `preset` resolve them.

    `about` holds facts about the model for its card: licence, languages, data, intended use;
    `keraszoo.saving.model_facts` lists them. A stopped run resumes even if they have changed.
    """

    about: dict[str, JsonValue] = {}

    _lines: dict = PrivateAttr(default={})
    _file: str | None = PrivateAttr(default=None)

    @field_validator("about")
    @classmethod
    def _facts_that_there_are(cls, about):
        checked(Facts, about, "", ValueError)
        return about

    @model_validator(mode="after")
    def _sections_that_need_each_other(self):
        if self.data.validation is None:
            key = self.training.given_of("patience", "monitor")
            if key is not None:
                raise ValueError(f"`training.{key}` needs `data.validation`, which is missing")
        if self.model.name != "transformer" and self.training.optimizer.schedule == "transformer":
            raise ValueError(
                "`training.optimizer.schedule: transformer` is computed from d_model, which "
                f"{self.model.name} does not have; expected inverse_sqrt, cosine or constant"
            )
        return self

    @classmethod
    def read(cls, path, overrides=()):
        """Reads a recipe from a YAML file; `overrides` such as `"training.seed=3"` replace or add values.

        Raises RecipeError: one line with every problem: file and line, key, expected and received value.
        """
        return cls.from_values(*read_values(path, overrides), str(path))

    @classmethod
    def from_dict(cls, values):
        """Makes a recipe from a dictionary such as `as_dict` returns; its paths are not resolved."""
        return cls.from_values(values, {}, None)

    @classmethod
    def from_values(cls, values, lines, file):
        """Makes a recipe of what `read_values` returns for a file, or of a dictionary if `file` is None."""
        where = file or "recipe"
        recipe = checked(cls, values, where, RecipeError, lines=lines, context={"file": file})
        recipe._lines, recipe._file = lines, file
        return recipe

    def place(self, *keys):
        """Returns the file and line of a key, for messages."""
        return self._lines.get(keys, self._file or "recipe")

    def path(self, text):
        """Returns the path that a text of this recipe names."""
        return resolve(text, self._file)

    def preset(self, text):
        """Returns the address, name or path of a model or of vectors that a text of this recipe names."""
        return resolve_preset(text, self._file)

    def as_dict(self):
        """All values, including defaults, as JSON; paths as text, not resolved.

        So the directory of a model names no folder of this machine unless the recipe itself does.
        """
        return self.model_dump(mode="json")

    def model_class(self):
        """Returns the class of the model; raises RecipeError for an unknown preset or override."""
        kind = model_classes(self.task)[self.model.name]
        checks = [(("model", "preset"), self.model.preset, list(kind.configurations))]
        for key in self.model.overrides:
            checks.append((("model", "overrides", key), key, model_arguments(kind)))
        for keys, value, known in checks:
            if value not in known:
                what = "unknown key" if "overrides" in keys else f"{self.model.name} has no preset {value!r}"
                said = f"{'.'.join(keys)}: {what}{suggestion(value, known)}"
                raise RecipeError(f"{self.place(*keys)}: {said}")
        return kind
