"""The columns of a calls table: their parts, and what names of strangers usually mean.

A name is evidence and no proof. What a name is taken for is held against the values of its column
by `reading`, which says so, or asks.
"""

import re
from collections.abc import Iterator, Mapping

CONTRACT = (
    *("judge", "criterion", "layer", "date", "item", "stratum", "prompt", "order", "repeat"),
    *("verdict", "gold"),
)
REQUIRED = ("item", "verdict")
PEOPLE = ("human", "rater")
"""What people said of an item, and who said it."""
BESIDE = ("cluster", "answer", "text")
"""What several items share, which of its judged answers an item is, and its words."""
PARTS = (*CONTRACT, *PEOPLE, *BESIDE)
SOFT = "p_"
"""Begins the columns of token probabilities, `p_candidate_1`: one for each verdict."""
NO_VERDICT = frozenset({SOFT, "p_value", "p_values", "p_val", "p_adj", "p_adjusted"})
"""Columns that begin like token probabilities, and hold something else."""
MISSING = "missing"
"""The column of the probability that a call's vector gives to no verdict."""

EMPTY = frozenset({"", "nan", "<na>", "null", "none"})
"""What stands where nobody wrote a verdict, as tools write nothing."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "judge": ("judge_id", "judge_name", "judge_model", "model", "model_id", "model_name"),
    "criterion": ("criterion_id", "criterion_name"),
    "layer": ("layer_id", "layer_name"),
    "date": ("wave", "asked_on"),
    "item": ("item_id", "example_id", "instance_id", "question_id", "sample_id"),
    "stratum": ("stratum_id", "strata", "subset", "category"),
    "prompt": ("prompt_id", "prompt_name", "template", "template_id", "wrapper", "wrapper_id"),
    "order": (
        "order_id",
        "answer_order",
        "display_order",
        "presentation_order",
        "candidate_order",
        "option_order",
        "ordering",
        "swapped",
        "is_swapped",
        "flipped",
    ),
    "repeat": ("repeat_rank", "repeat_id", "repeat_index", "repetition", "replicate"),
    "verdict": ("outcome", "parsed_verdict", "decision", "winner", "judgment", "judgement"),
    "gold": ("gold_label", "gold_verdict", "reference_verdict"),
}
"""Names read without a mapping where the contract's own name is absent; the first column of the
paper's released layout that differs is `repeat_rank`. Case does not matter."""

FURTHER: Mapping[str, tuple[str, ...]] = {
    "judge": (
        *("grader", "grader_model", "evaluator", "evaluator_model", "eval_model", "llm_judge"),
        *("judge_llm", "grading_model", "scoring_model", "scorer_model", "rater", "annotator"),
    ),
    "criterion": ("metric", "metric_name", "aspect", "dimension"),
    "item": (
        *("id", "example", "question", "instance", "sample", "qid", "uid", "idx"),
        *("pair_id", "case_id", "doc_id", "dialogue_id", "dialog_id", "conversation_id"),
        *("query_id", "problem_id", "record_id", "task_id", "data_id", "entry_id"),
    ),
    "prompt": (
        *("variant", "prompt_variant", "prompt_version", "prompt_template"),
        *("template_name", "template_version", "template_no", "judge_prompt", "prompt_type"),
        *("prompt_no", "prompt_number", "prompt_key", "prompt_label", "rubric_version"),
    ),
    "order": ("prompt_order", "swap", "reversed", "is_flipped", "is_reversed", "position_order"),
    "repeat": (
        *("trial", "run", "run_id", "iteration", "iter", "rep", "attempt", "try", "run_index"),
        *("trial_id", "trial_index", "rep_id", "rep_index", "run_number", "draw", "run_idx"),
        *("trial_idx", "sample_index", "sample_idx", "rerun", "trial_no", "run_no", "attempt_no"),
        *("repeat_no", "rep_no", "iteration_no", "replication", "attempt_id", "attempt_index"),
    ),
    "verdict": (
        *("label", "choice", "preference", "preferred", "answer", "prediction", "result"),
        *("score", "rating", "grade", "vote", "pred", "parsed", "final_verdict", "judge_verdict"),
        *("judge_score", "judge_label", "judge_rating", "judge_decision", "judge_winner"),
        *("judge_choice", "judge_preference", "llm_verdict", "llm_score", "llm_label"),
        *("parsed_label", "parsed_score", "parsed_letter", "parsed_choice", "parsed_winner"),
        *("predicted_label", "predicted_winner", "model_verdict", "verdict_label", "value"),
        *("final_score", "final_decision", "final_label", "final_judgment", "final_judgement"),
        *("llm_grade", "llm_rating", "llm_decision", "llm_judgment", "llm_judgement"),
        *("grader_score", "evaluator_score", "eval_score", "graded_score", "assigned_score"),
        *("passed", "points", "stars", "judge_grade", "judge_answer", "judge_result"),
    ),
    "gold": (
        *("ground_truth_label", "ground_truth", "true_label", "truth", "expected_verdict"),
        *("expected_label", "correct_label", "correct_verdict", "label_gold", "reference_label"),
    ),
}
"""Names that are taken where nothing better is there, and their values do not speak against it."""

HUMAN_NAMES = (
    *("human_label", "human_score", "human_rating", "human_verdict", "human_grade", "human_eval"),
    *("human_evaluation", "human_annotation", "human_judgment", "human_preference", "human_winner"),
)
RATER_NAMES = ("rater", "rater_id", "annotator", "annotator_id", "labeler", "labeller")
TEXT_NAMES = ("content", "instruction", "input", "question")

NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **{part: ((part,), ALIASES.get(part, ()), FURTHER.get(part, ())) for part in CONTRACT},
    "human": (("human",), HUMAN_NAMES, ()),
    "rater": ((), RATER_NAMES, ("labelled_by",)),
    "cluster": (("cluster",), ("cluster_id",), ()),
    "answer": ((), (), ()),
    "text": (("text",), TEXT_NAMES, ()),
}
"""By part: the contract's own name, names that say it, and names that may mean it."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def folded(column: str) -> str:
    """Return a column's name in lower case: `Item ID`, `item-id` and `itemId` as `item_id`."""
    return re.sub(r"[\s.-]+", "_", _CAMEL.sub("_", column.strip()).casefold())


def forms(column: str) -> Iterator[str]:
    """Yield how a name may be looked up: whole, then its last part in a nested record.

    >>> list(forms("pairwise.Run Index"))
    ['pairwise_run_index', 'run_index']
    """
    yield folded(column)
    _, dot, last = column.rpartition(".")
    if dot and last.strip():
        yield folded(last)


def is_soft(column: str) -> bool:
    """Whether a name is that of a column of token probabilities."""
    return column.startswith(SOFT) and column not in NO_VERDICT


TURNS = re.compile(r"turn(_?(id|idx|index|no|number|num))?")
"""Columns that part what was judged: an answer of another turn is another item."""

SHARED = re.compile(
    r"(.*_)?(document|doc|passage|context|article|question|conversation|dialogue|dialog|thread|"
    r"session|problem|task|user|prompt_group)(_?(id|idx|index|no|number|name|key))?"
)
"""Columns whose values several items may share: items of one may then stand or fall together."""

_MEASURED = (
    r"(.*_)?(timestamp|datetime|tstamp|created_at|updated_at|started_at|finished_at|ended_at|"
    r"completed_at|asked_at|latency|duration|elapsed|runtime|cost|price|usd|usage|logprobs?|"
    r"perplexity)(_(s|ms|sec|seconds|usd|in|out|count|time))?|(latency|duration|elapsed)_.*|"
    r"(.*_)?(prompt|completion|input|output|total|reasoning|cached|n|num)_tokens(_\w+)?|tokens?|"
    r"n_chars"
)
_PERHAPS_MEASURED = (
    r"(.*_)?(time|ts|created|updated|started|finished|ended|completed|when|seconds|secs?|ms|"
    r"millis\w*|tokens?)|(time|cost|usage)_.*"
)
_IDS = (
    r"(request|response|reply|completion|message|trace|span|session|event|log|batch|generation|call)_?"
    r"(id|uuid|hash|key)|uuid|guid|hash|sha\d*|md5|row|row_?(id|index|number|no)|line|line_no|"
    r"index|unnamed:?_?\d*|column_1|_id|system_fingerprint|fingerprint|url|(file_?)?path"
)
_ABOUT_THE_CALL = (
    r"(finish|stop)_reason|cached?|cache_hit|from_cache|retr(y|ies)|n_retries|attempts|n_attempts|"
    r"http_status|status_code|confidence|certainty|(is_)?correct|is_right|correctness|agree(s|ment)?|"
    r"(is_)?match(es|ed)?|parse_(ok|error|status|failed|success)|parsed_ok|error(_message)?|"
    r"is_valid|valid|truncated"
)
_REPLIES = (
    r"(.*_)?(raw|reply|completion|reason(ing)?|rational\w*|explanation|justification|thinking|"
    r"thoughts?|critique|feedback|why|analysis|cot|chain_of_thought|comments?|notes?|evidence|"
    r"explanations|reasons|judge?ment_text|judge_output|judge_response|llm_output|llm_response|"
    r"grader_output|verdict_text|full_(text|response|output|reply)|said|extracted|parsed)|"
    r"(raw|parsed|extracted)_.*|.*_raw|g\d_judge?ment"
)
ASIDE: Mapping[str, re.Pattern[str]] = {
    "a time or cost": re.compile(_MEASURED),
    "perhaps a time or cost": re.compile(_PERHAPS_MEASURED),
    "an id": re.compile(_IDS),
    "about the call": re.compile(_ABOUT_THE_CALL),
    "words of the reply": re.compile(_REPLIES),
}
"""What is left aside: it differs between repeats of one call."""

INPUTS = re.compile(
    r"(.*_)?(question|instruction|input|prompt|query|context|article|document|source_text|passage|"
    r"response|answer|output|candidate|completion|reference|summary|generation|generated|"
    r"translation|hypothesis|premise|dialogue|conversation|messages|task)(_?(a|b|1|2|text|\d))?"
)
"""Names of texts that may be what was judged: where they differ, so do the items."""

HINTS: Mapping[str, re.Pattern[str]] = {
    "order": re.compile(r"order|swap|flip|revers|position|arrange|display|shown|permut|first"),
    "repeat": re.compile(
        r"(^|_)(rep|run|trial|iter|seed|draw|try|attempt|sample|replic|copy|pass|epoch)"
        r"\w*(_|$|\d)|repeat"
    ),
    "judge": re.compile(r"judge|grader|evaluator|rater|annotator"),
    "criterion": re.compile(r"metric|criteri|aspect|dimension|rubric|quality"),
    "item": re.compile(
        r"item|question|case|example|task|turn|round|dialog|conversation|system|model|answer|"
        r"response|generator|dataset|doc|language|split|candidate|assistant|bot|agent|topic|style"
    ),
    "prompt": re.compile(
        r"prompt|template|condition|variant|setting|persona|temperature|version|wording|"
        r"phras|format|instruct|context|mode|config|treatment|method|strategy|arm|scenario"
    ),
}
"""What a name hints at, where it does not say it: the first suggestion of a question."""


def hints(column: str) -> list[str]:
    """Return the parts at which a name hints, the likeliest first."""
    name = folded(column)
    return [part for part, pattern in HINTS.items() if pattern.search(name)]


def aside(column: str) -> str | None:
    """Say why a column is left aside by its name; None where its name does not tell."""
    for form in forms(column):
        for why, pattern in ASIDE.items():
            if pattern.fullmatch(form):
                return why
    return None


def is_empty(raw: str | None) -> bool:
    """Say whether a field holds no verdict: nothing, blanks, or the name of a missing value."""
    return raw is None or raw.strip().casefold() in EMPTY
