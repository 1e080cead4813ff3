"""A judge against people, and a judge over dates: statistics of labels and waves, without I/O."""

from typing import TYPE_CHECKING

from judgelaw.doors import lazy

if TYPE_CHECKING:
    from judgelaw.labels.against import Against as Against
    from judgelaw.labels.alarm import FALSE_ALARMS as FALSE_ALARMS
    from judgelaw.labels.opinions import (
        Opinions as Opinions,
        Row as Row,
        gather_opinions as gather_opinions,
    )
    from judgelaw.labels.pass_rate import LabelChoice as LabelChoice
    from judgelaw.labels.proportions import (
        correlation as correlation,
        mean_interval as mean_interval,
    )
    from judgelaw.labels.validation import (
        Validation as Validation,
        validate_opinions as validate_opinions,
    )
    from judgelaw.labels.verdict_words import percent as percent
    from judgelaw.labels.watching import (
        Look as Look,
        Watch as Watch,
        watch_waves as watch_waves,
    )
    from judgelaw.labels.waves import (
        DatedCall as DatedCall,
        check_dates as check_dates,
        in_words as in_words,
        lay_out_waves as lay_out_waves,
        out_of_order as out_of_order,
    )
else:
    __getattr__, __dir__ = lazy(__name__)
