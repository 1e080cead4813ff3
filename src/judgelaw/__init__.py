"""judgelaw: may this LLM judge be used, why does it change, and what should be changed?

    import judgelaw as jl

    analysis = jl.analyze("calls.csv.gz")
    jl.gate("calls.csv.gz", {"prompt": 0.02}).verdict

Names load when they are first used, so that `import judgelaw` and `judgelaw --help` are immediate.
"""

from typing import TYPE_CHECKING

from judgelaw import errors as errors

__version__ = "0.2.0"

if TYPE_CHECKING:
    # The front door: one line for each public name, with the room that it is in.
    from judgelaw.analysis import (
        Analysis as Analysis,
        Comparison as Comparison,
        PanelAnswer as PanelAnswer,
    )
    from judgelaw.decide import (
        Advice as Advice,
        Score as Score,
    )
    from judgelaw.errors import JudgelawError as JudgelawError
    from judgelaw.estimate import (
        Decomposition as Decomposition,
        decompose as decompose,
    )
    from judgelaw.first_release import *  # noqa: F403 - they keep importing, unlisted
    from judgelaw.judges import (
        Call as Call,
        Invalid as Invalid,
        RateLimited as RateLimited,
        Refused as Refused,
        Reply as Reply,
    )
    from judgelaw.labels import Validation as Validation, Watch as Watch
    from judgelaw.runs import (
        Plan as Plan,
        Run as Run,
        advise as advise,
        analyze as analyze,
        audit as audit,
        audit_async as audit_async,
        compare as compare,
        gate as gate,
        panel as panel,
        plan as plan,
        report as report,
        score as score,
        validate as validate,
        watch as watch,
    )
    from judgelaw.tensor import VerdictTensor as VerdictTensor
    from judgelaw.uncertainty import Gate as Gate
else:
    from judgelaw.doors import front

    __getattr__, __dir__ = front(__name__, beside=("errors", "__version__"))
