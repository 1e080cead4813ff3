"""A declared generator of prompts: laws for as many prompts as one cares to sample."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import check_at_least, check_fraction, check_laws
from judgelaw.errors import InputError
from judgelaw.streams import stream
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor
from judgelaw.worlds.law_rules import contrast
from judgelaw.worlds.world import PAPER_BASE, draw_ranked, verdict_names

Family = Literal["uniform", "skewed", "dirichlet"]

_SKEWED = np.array([2.0, -0.5])
_SKEWED_SHARE = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptGenerator:
    """Prompts drawn independently from a policy Q whose dispersion is known.

    Families, all with E P = base and E|P - base|^2 = prompt:

    - `uniform`: P = base + sqrt(prompt) s v, s uniform with variance one. The same s serves every
      item, as the same prompts do in a benchmark; v moves mass between the first two verdicts,
      and for every second item the other way.
    - `skewed`: the same with s = 2 for one prompt in five, else -1/2: rare prompts that matter.
    - `dirichlet`: P drawn for every item anew, Dirichlet with mean base.
    """

    base: NDArray[np.float64]
    prompt: float
    family: Family = "uniform"
    verdicts: tuple[str, ...] = DEFAULT_VERDICTS

    @classmethod
    def declare(
        cls, *, base: ArrayLike = PAPER_BASE, prompt: float, family: Family = "uniform"
    ) -> Self:
        """Check the numbers and build the generator.

        Raises:
            InputError: the laws would leave the simplex; the message has the range that works.
        """
        law = check_laws(base, what="base")
        if law.ndim != 1:
            raise InputError(
                f"base has shape {law.shape}: it is one law, such as {list(PAPER_BASE)}"
            )
        check_fraction("prompt", prompt)
        if family not in ("uniform", "skewed", "dirichlet"):
            raise InputError(f"family {family!r}: it is uniform, skewed or dirichlet")
        made = cls(
            base=law, prompt=float(prompt), family=family, verdicts=verdict_names(None, len(law))
        )
        if prompt > (limit := made._largest()):
            raise InputError(
                f"prompt = {prompt:g} takes the {family} family out of the simplex of base "
                f"{law.tolist()}: 0 < prompt <= {np.floor(limit * 1e6) / 1e6:g} works"
            )
        return made

    @property
    def within(self) -> float:
        """U_within(Q) = E[1 - |P|^2] = total - prompt."""
        return float(1 - np.sum(self.base**2)) - self.prompt

    @property
    def total(self) -> float:
        """U_total(Q) = 1 - |E P|^2."""
        return float(1 - np.sum(self.base**2))

    def draw_laws(
        self, rng: np.random.Generator, *, datasets: int, items: int, prompts: int
    ) -> NDArray[np.float64]:
        """Sample prompts anew for each data set: laws (datasets, items, prompts, verdicts)."""
        check_at_least("prompts", prompts, 2, "dispersion over one sampled prompt is not defined")
        if self.prompt == 0:
            return np.broadcast_to(self.base, (datasets, items, prompts, len(self.base)))
        if self.family == "dirichlet":
            shape = self.base * (self.total / self.prompt - 1)
            return rng.dirichlet(shape, size=(datasets, items, prompts))
        score = self._scores(rng, (datasets, 1, prompts, 1))
        sign = np.where(np.arange(items) % 2 == 0, 1.0, -1.0)[None, :, None, None]
        v = contrast(len(self.base), 0, 1)
        return np.asarray(self.base + np.sqrt(self.prompt) * score * sign * v)

    def draw(
        self, rng: np.random.Generator, *, datasets: int, items: int, prompts: int, repeats: int
    ) -> NDArray[np.int16]:
        """Sample prompts, then verdict codes (datasets, items, prompts, repeats)."""
        laws = self.draw_laws(rng, datasets=datasets, items=items, prompts=prompts)
        return draw_ranked(laws, repeats, rng)

    def tensor(self, *, items: int, prompts: int, repeats: int, seed: int) -> VerdictTensor:
        """Draw one data set with a single order from the stream `generator` of `seed`."""
        rng = stream(seed, "generator")
        codes = self.draw(rng, datasets=1, items=items, prompts=prompts, repeats=repeats)
        return VerdictTensor.from_ranked(codes[0][:, :, None, :], verdicts=self.verdicts)

    def _scores(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        if self.family == "uniform":
            return rng.uniform(-np.sqrt(3), np.sqrt(3), size=shape)
        rare = rng.random(shape) < _SKEWED_SHARE
        return np.asarray(np.where(rare, _SKEWED[0], _SKEWED[1]))

    def _largest(self) -> float:
        if self.family == "dirichlet":
            return self.total
        reach = np.sqrt(3) if self.family == "uniform" else float(_SKEWED[0])
        return float((min(self.base[:2]) * np.sqrt(2) / reach) ** 2)
