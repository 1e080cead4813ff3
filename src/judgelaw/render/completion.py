"""What a provider said, before anybody reads a verdict into it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One finished answer.

    Attributes:
        text: what the model wrote for the reader, None where the provider sent none.
        finish_reason: why it stopped, in the provider's word.
        refusal: the provider's refusal text, if it keeps refusals apart.
        content_filtered: the provider withheld the answer under a rule that the judge names.
    """

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    content_filtered: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a completion counts as.

    Attributes:
        verdict: the verdict with candidates restored, `invalid` at worst.
        parser: the versioned name of the rule that read it.
        displayed: the label as the model wrote it, None where there is none.
        reason: `parsed`, or why the verdict is `invalid`.
    """

    verdict: str
    parser: str
    displayed: str | None
    reason: str
