"""How a judge is declared, how a call is written for it, and how its reply is read."""

from judgelaw.wire.bounded import (
    SECONDS as SECONDS,
    Reader as Reader,
    too_slow as too_slow,
    try_pattern as try_pattern,
)
from judgelaw.wire.form import (
    BatchClient as BatchClient,
    BatchStatus as BatchStatus,
    Entry as Entry,
    Frame as Frame,
    LostBatch as LostBatch,
    Results as Results,
    Stage as Stage,
    Unheard as Unheard,
)
from judgelaw.wire.judge_spec import (
    AMENDABLE as AMENDABLE,
    LITERAL as LITERAL,
    PARSERS_GROUP as PARSERS_GROUP,
    Batch as Batch,
    ChatTemplate as ChatTemplate,
    Decoding as Decoding,
    Fault as Fault,
    JsonParser as JsonParser,
    JudgeSpec as JudgeSpec,
    Model as Model,
    Name as Name,
    ParserSpec as ParserSpec,
    PositiveFloat as PositiveFloat,
    PositiveInt as PositiveInt,
    Price as Price,
    RegexParser as RegexParser,
    ScoreParser as ScoreParser,
    Share as Share,
    SingleCriterion as SingleCriterion,
    canonical_json as canonical_json,
    sha256_hex as sha256_hex,
    with_tuples as with_tuples,
)
from judgelaw.wire.masking import Secrets as Secrets
from judgelaw.wire.parser_rules import FORMS as FORMS, parser_rule as parser_rule
from judgelaw.wire.parsers import (
    display as display,
    label_fold as label_fold,
    label_words as label_words,
    parse as parse,
    parser_name as parser_name,
    ran_out as ran_out,
    restore as restore,
    text_to_read as text_to_read,
    wanted as wanted,
)
from judgelaw.wire.providers.anthropic import messages as messages
from judgelaw.wire.providers.openai import chat as chat, completions as completions
from judgelaw.wire.quotas import SPELLINGS as SPELLINGS, Quota as Quota, quotas_in as quotas_in
from judgelaw.wire.reply import (
    RAN_OUT as RAN_OUT,
    Answer as Answer,
    Completion as Completion,
    Consequence as Consequence,
    Failure as Failure,
    FailureKind as FailureKind,
    Receipt as Receipt,
    Reply as Reply,
    Verdict as Verdict,
    kind_of as kind_of,
    read_json as read_json,
    read_status as read_status,
    retry_after as retry_after,
    same_model as same_model,
)
from judgelaw.wire.reply_json import json_value as json_value
from judgelaw.wire.secrets import (
    Proxy as Proxy,
    check_secrets as check_secrets,
    environment_secrets as environment_secrets,
    has_secrets as has_secrets,
    headers_for as headers_for,
    looks_like_a_key as looks_like_a_key,
    proxy_for as proxy_for,
    query_for as query_for,
    read_env_file as read_env_file,
)
from judgelaw.wire.token_probabilities import (
    Vector as Vector,
    vector_of as vector_of,
)
from judgelaw.wire.wires import (
    PROVIDERS as PROVIDERS,
    WIRES as WIRES,
    decode as decode,
    frame as frame,
    request as request,
)
