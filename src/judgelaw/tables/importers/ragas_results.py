"""Results of ragas (`result.to_pandas().to_csv(...)`): a row a question, a column a metric."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.columns import is_empty
from judgelaw.tables.importers.entries import Advice, Format, as_text
from judgelaw.tables.importers.known import (
    PLACE,
    KnownLog,
    LogFile,
    Row,
    counts,
    hashed,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN, UNNAMED
from judgelaw.tensor import INVALID

_TEXTS = (
    *("user_input", "retrieved_contexts", "reference_contexts", "response", "reference"),
    *("multi_responses", "rubrics", "reference_topics", "reference_tool_calls"),
    *("question", "answer", "contexts", "ground_truth", "ground_truths"),
)
_ASKED = re.compile(
    r"faithfulness|(answer|response)_relevancy|(llm_)?context_(precision|recall|relevancy)\w*|"
    r"context_(entity_recall|utilization|relevance)|nv_\w+|answer_(correctness|accuracy)|"
    r"factual_correctness\w*|noise_sensitivity\w*|response_(groundedness|relevance)|"
    r"summar\w+_score|aspect_critic|harmfulness|maliciousness|coherence|conciseness|correctness|"
    r"agent_goal_accuracy\w*|topic_adherence\w*|multi_modal_\w+|sql_\w*equivalence\w*"
)
"""Metrics whose score comes from a model's answers."""
_COMPUTED = re.compile(
    r"(answer|semantic)_similarity|non_llm_\w+|id_based_\w+|(bleu|rouge|chrf)_score|exact_match|"
    r"string_present|data_?compy_score|tool_call_\w+"
)
"""Metrics that are computed, from texts or embeddings: no dice."""


def tells(file: LogFile) -> bool:
    """Whether a table has the columns of a ragas data set and a metric of ragas."""
    if file.kind not in {"table", "records", "parquet"}:
        return False
    names = set(file.columns)
    texts = {"user_input", "response"} <= names or {"question", "answer", "contexts"} <= names
    return texts and any(_metric(_ASKED, name) for name in names)


def _metric(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.fullmatch(name.partition("(")[0]) is not None


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read every metric of every row."""
    left: Counter[str] = Counter()
    rows: list[Row] = []
    for file in files:
        for place, record in file.records(tick):
            rows += _rows(place, record, left)
    blank = sum(row["verdict"] == INVALID for row in rows)
    return KnownLog(
        format="ragas",
        name="ragas results",
        says=(
            f"judge: not in the file, called {UNNAMED!r}",
            "criterion: each metric column",
            "item: a hash of the row's question, contexts, response and reference",
            f"verdict: the score, 0 to 1; {blank} of {len(rows)} are blank: invalid",
        ),
        left_out=counts(left),
        rows=rows,
        scale={"from": 0.0, "to": 1.0},
    )


def _rows(place: str, record: Mapping[str, Any], left: Counter[str]) -> Iterable[Row]:
    texts = {name: record[name] for name in _TEXTS if record.get(name)}
    item = hashed(texts)
    question = record.get("user_input", record.get("question"))
    for name, value in record.items():
        if name in _TEXTS or not isinstance(name, str):
            continue
        if not _metric(_ASKED, name):
            why = "computed, no model asked" if _metric(_COMPUTED, name) else "no metric of ragas"
            left[f"column {name} ({why})"] += 1
            continue
        score = as_text(value)
        yield {
            "judge": UNNAMED,
            "criterion": name,
            "item": item,
            "prompt": AS_GIVEN,
            "verdict": INVALID if score is None or is_empty(score) else _plain(score),
            "human": human_label(record),
            "cluster": hashed(question),
            "instruction": as_text(question),
            "candidate_1": as_text(record.get("response", record.get("answer"))),
            "reference": as_text(record.get("reference", record.get("ground_truth"))),
            PLACE: f"{place} {name}",
        }


def _plain(score: str) -> str:
    """Write 1.0 as 1, as a number of any other log."""
    try:
        return as_text(float(score)) or score
    except ValueError:
        return score


OFFERED = (
    Format(
        name="ragas",
        title="ragas results",
        place=24,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="evaluate without a cache (`cacher`)",
            repeat="evaluate the same samples again and name both files",
        ),
    ),
)
