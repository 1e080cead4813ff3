"""What a study declares, and the manifest that freezes it before the first request."""

from judgelaw.study.blueprint import (
    AS_GIVEN as AS_GIVEN,
    Block as Block,
    Blueprint as Blueprint,
    blocks as blocks,
    field_notes as field_notes,
    left_out as left_out,
    probe_notes as probe_notes,
    survey as survey,
)
from judgelaw.study.criteria import gold_of as gold_of
from judgelaw.study.depths import RepeatsFrom as RepeatsFrom, Stop as Stop
from judgelaw.study.extending import extend as extend, record_looks as record_looks
from judgelaw.study.freezing import (
    Choose as Choose,
    adopt as adopt,
    freeze as freeze,
    note_change as note_change,
)
from judgelaw.study.item_files import records as records
from judgelaw.study.items import Item as Item
from judgelaw.study.loading import (
    LoadedStudy as LoadedStudy,
    StudyLike as StudyLike,
    load_study as load_study,
)
from judgelaw.study.manifest import (
    CHANGED as CHANGED,
    ITEMS as ITEMS,
    LABELS as LABELS,
    MANIFEST as MANIFEST,
    PROMPTS as PROMPTS,
    REWORDINGS as REWORDINGS,
    STUDY as STUDY,
    FrozenRun as FrozenRun,
    PlannedCall as PlannedCall,
    changed_jsonl as changed_jsonl,
    open_run as open_run,
    reading as reading,
)
from judgelaw.study.models import (
    Budget as Budget,
    Continuous as Continuous,
    Gate as Gate,
    Layer as Layer,
    Study as Study,
    Transport as Transport,
    study_schema as study_schema,
)
from judgelaw.study.previewing import Preview as Preview, preview as preview
from judgelaw.study.problems import read_yaml as read_yaml
from judgelaw.study.prompt_models import (
    Census as Census,
    Factors as Factors,
    Prompts as Prompts,
    Reworded as Reworded,
    TemplateSpec as TemplateSpec,
    drawn_count as drawn_count,
)
from judgelaw.study.prompts import (
    Template as Template,
    instruction_blocks as instruction_blocks,
    item_block as item_block,
)
from judgelaw.study.record import (
    RECORD as RECORD,
    LookRecord as LookRecord,
    frozen_identity as frozen_identity,
)
from judgelaw.study.requests import (
    Requests as Requests,
    call_id as call_id,
    displayed as displayed,
    payload as payload,
    payload_for as payload_for,
    request_for as request_for,
)
from judgelaw.study.reword_checks import hints as hints
from judgelaw.study.reword_run import (
    Drawn as Drawn,
    Heard as Heard,
    decide as decide,
    more_draws as more_draws,
    plan_again as plan_again,
    plan_draws as plan_draws,
)
from judgelaw.study.reworded import (
    TRIES as TRIES,
    RewordingFacts as RewordingFacts,
    WordingSource as WordingSource,
    draws_by_rule as draws_by_rule,
    source_of as source_of,
)
from judgelaw.study.reworded_file import (
    approved_study as approved_study,
    reworded_study as reworded_study,
)
from judgelaw.study.run_files import (
    PENDING as PENDING,
    SUMS as SUMS,
    announce as announce,
    durable as durable,
    exclusive as exclusive,
    file_sha256 as file_sha256,
    is_inside as is_inside,
    own_folder as own_folder,
    own_link as own_link,
    placed as placed,
    read_sums as read_sums,
    recover as recover,
    settle as settle,
    staged as staged,
    write_all as write_all,
    write_sums as write_sums,
)
from judgelaw.study.shards import Shard as Shard
from judgelaw.study.single_answers import reading_rule as reading_rule
from judgelaw.study.wording_draws import (
    APPROVALS as APPROVALS,
    ASKED as ASKED,
    DRAWS as DRAWS,
    SAME as SAME,
    STRUCK as STRUCK,
    Approvals as Approvals,
    Draw as Draw,
    Refused as Refused,
    differs_first as differs_first,
    read_approvals as read_approvals,
    read_draws as read_draws,
    write_draws as write_draws,
)
