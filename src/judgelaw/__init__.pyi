# The front door: one line for each public name. Type checkers read this file, and so does
# `__init__.py`: a name is imported from the room on its line when it is first used.

from judgelaw import errors as errors
from judgelaw.analysis import Analysis as Analysis
from judgelaw.analysis import Comparison as Comparison
from judgelaw.errors import JudgelawError as JudgelawError
from judgelaw.estimate import Decomposition as Decomposition
from judgelaw.estimate import decompose as decompose
from judgelaw.first_release import *  # noqa: F403 - they keep importing, unlisted
from judgelaw.runs import Plan as Plan
from judgelaw.runs import Run as Run
from judgelaw.runs import analyze as analyze
from judgelaw.runs import audit as audit
from judgelaw.runs import audit_async as audit_async
from judgelaw.runs import compare as compare
from judgelaw.runs import gate as gate
from judgelaw.runs import plan as plan
from judgelaw.runs import report as report
from judgelaw.tensor import VerdictTensor as VerdictTensor
from judgelaw.uncertainty import Gate as Gate

__version__: str
