"""Under CI nothing may be missing: a skip there is a failure, whatever its reason.

Workers share the cores already, so linear algebra takes one thread in each: threads that wait for
each other in loops took a quarter of the time of tests that compute. Children inherit it.
"""

import os

import pytest

CI = os.environ.get("CI") == "true"

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded


def _refuse_skip(report):
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under CI, where everything must be there: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    _refuse_skip(report)
    return report
