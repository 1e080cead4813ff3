"""Every flag of every command, and every exit code, has a test that sees what it does.

The tables below name those tests. A flag without a row fails here, and so does a row whose test is
gone, or does not use the flag.
"""

import ast
import re
from functools import cache
from pathlib import Path

import click
import pytest

from judgelaw import errors
from judgelaw.cli import program
from judgelaw.cli.volume import SHARED
from support.pages import PAGES, ROOT

HERE = "tests/docs/test_flag_effects.py"
CLI = "tests/unit/cli"
FOLDER = "tests/postgres/test_run_folder.py::TestCommands"
DECIDE = f"{CLI}/test_decide_commands.py"
KILL = "tests/crash/test_kill.py"
IMPORT = "tests/unit/tables/importers/test_command.py"

JUDGE = f"{HERE}::test_judge_reads_that_judge_only"
NEWCOMER = (
    "tests/unit/tables/test_forgiving.py::test_the_newcomers_log_is_answered_by_the_second_command"
)
FORGIVEN = (
    "tests/unit/tables/importers/test_forgiving_import.py"
    "::test_the_command_restores_positions_and_counts_blanks"
)
WHICH = f"{HERE}::test_layer_repeats_and_design_say_which_calls_and_what_they_are"
INCOMPLETE = f"{HERE}::test_incomplete_items_are_dropped_on_demand"
DRAWN = f"{HERE}::test_draws_seed_and_permutations_are_those_that_were_asked_for"
MOVED = f"{HERE}::test_draws_and_seed_move_the_bands_of_a_comparison_and_nothing_else"
NAMED = f"{HERE}::test_fields_of_a_log_are_named_one_by_one"
MAPPED = f"{IMPORT}::test_fields_labels_orders_and_choices_come_from_options"
LABELS = f"{CLI}/test_labels_commands.py"
REWORD = f"{CLI}/test_reword.py"
SIZES = f"{HERE}::test_sizes_and_seeds_of_simulations_are_those_that_were_asked_for"
PAPER = f"{HERE}::test_the_paper_shows_what_agrees_too_and_takes_a_seed"

CRITERION = f"{HERE}::test_the_criterion_that_is_read_is_the_one_that_was_asked_for"
ADVICE = f"{HERE}::test_advice_and_scores_of_one_criterion"
ONE_CRITERION = f"{HERE}::test_labels_and_dates_are_looked_at_on_one_criterion"

READS = {
    "--judge": JUDGE,
    "--criterion": CRITERION,
    "--layer": WHICH,
    "--repeats": WHICH,
    "--design": WHICH,
    "--incomplete": INCOMPLETE,
    "--columns": f"{CLI}/test_analyze.py::test_columns_of_other_names_are_named",
    "--verdicts": f"{CLI}/test_analyze.py::test_the_alphabet_may_be_declared",
    "--scale": f"{CLI}/test_analyze.py::test_a_table_of_scores_is_read_on_its_scale",
    "--date": f"{HERE}::test_the_date_that_is_read_is_the_one_that_was_asked_for",
    "--positions": NEWCOMER,
    "--blank": NEWCOMER,
    "--engine": "tests/unit/tables/test_engines.py::test_the_command_line_counts_with_spark",
}
SIMULATED = {"--seed": SIZES, "--json": SIZES, "--items": SIZES}

FLAGS = {
    "": {
        "--version": f"{HERE}::test_version_and_help",
        "--help": f"{HERE}::test_version_and_help",
        "--quiet": f"{HERE}::test_quiet_leaves_only_the_answer",
        "--verbose": f"{HERE}::test_verbose_shows_the_log",
    },
    "audit": {
        "--out": f"{HERE}::test_audit_puts_the_run_where_it_is_told",
        "--tables": f"{HERE}::test_tables_and_texts_are_there_as_asked",
        "--without-texts": f"{HERE}::test_tables_and_texts_are_there_as_asked",
        "--view": "tests/browser/test_live.py::test_an_audit_opens_its_own_page",
        "--json": f"{HERE}::test_audit_writes_the_analysis_as_json",
        "--details": "tests/unit/runs/test_several.py"
        "::test_the_factors_of_a_known_law_are_recovered_within_four_call_errors",
    },
    "completion": {},
    "demo": {"--out": f"{CLI}/test_demo.py::test_the_run_folder_holds_what_the_contract_names"},
    "init": {
        "--study": f"{CLI}/test_study_commands.py::test_init_writes_the_papers_protocol",
        "--task": f"{CLI}/test_study_commands.py"
        "::test_init_writes_a_study_of_every_task_that_passes_check_and_schema",
        "--provider": f"{CLI}/test_study_commands.py"
        "::test_init_writes_a_study_that_passes_check_and_schema",
        "--model": f"{CLI}/test_study_commands.py::test_init_takes_the_model_as_it_is",
        "--probes": f"{CLI}/test_study_commands.py::test_init_offers_probes",
        "--out": f"{CLI}/test_study_commands.py"
        "::test_init_writes_a_study_that_passes_check_and_schema",
    },
    "check": {
        "--probe": f"{HERE}::test_check_shows_json_and_probes_only_when_asked",
        "--json": f"{HERE}::test_check_shows_json_and_probes_only_when_asked",
    },
    "plan": {
        "--pilot": f"{CLI}/test_plan.py"
        "::test_a_sentence_comes_first_and_a_pilot_of_two_repeats_is_named",
        "--law": f"{CLI}/test_plan.py::test_widths_are_those_of_studies_simulated_under_the_law",
        "--assurance": f"{CLI}/test_plan.py::test_more_assurance_promises_less",
        "--half-width": f"{CLI}/test_plan.py"
        "::test_a_wanted_width_names_the_repeats_and_the_items_that_reach_it",
        "--component": f"{CLI}/test_plan.py"
        "::test_a_wanted_width_names_the_repeats_and_the_items_that_reach_it",
        "--new-items": f"{CLI}/test_plan.py"
        "::test_a_wanted_width_names_the_repeats_and_the_items_that_reach_it",
        "--budget": f"{CLI}/test_plan.py::test_a_budget_is_put_into_repeats_or_into_new_items",
        "--latency": f"{HERE}::test_plan_takes_the_latency_of_a_call",
        "--json": f"{CLI}/test_plan.py::test_money_and_time_follow_from_the_study",
    },
    "run": {
        "--out": f"{CLI}/test_acquire.py::test_run_then_status_then_verify",
        "--ledger": f"{FOLDER}::test_freeze_then_work_then_finish",
        "--freeze-only": f"{FOLDER}::test_freeze_then_work_then_finish",
        "--cancel-batches": f"{HERE}::test_cancelled_batches_are_not_submitted",
        "--accept-loss": f"{KILL}::test_a_lost_log_stops_the_next_run_until_somebody_accepts_it",
        "--lease": f"{HERE}::test_the_lease_reaches_the_session",
        "--date": f"{LABELS}::test_a_study_is_asked_again_on_a_later_date",
    },
    "worker": {
        "--ledger": f"{FOLDER}::test_freeze_then_work_then_finish",
        "--run": f"{FOLDER}::test_a_live_look_counts_what_the_copy_does_not_have_yet",
        "--lease": f"{HERE}::test_the_lease_reaches_the_session",
    },
    "status": {
        "--json": f"{CLI}/test_acquire.py::test_run_then_status_then_verify",
        "--ledger": f"{FOLDER}::test_a_live_look_counts_what_the_copy_does_not_have_yet",
    },
    "reword": {
        **dict.fromkeys(
            ("--with", "--count", "--json"),
            f"{REWORD}::test_a_model_rewords_and_json_holds_what_was_refused",
        ),
        **dict.fromkeys(
            ("--prompt", "--out"),
            f"{REWORD}::test_one_of_several_prompts_is_named_and_the_study_goes_where_it_is_told",
        ),
        "--varied": f"{REWORD}::test_a_varied_set_is_written_as_a_census",
        **dict.fromkeys(
            ("--approve", "--as", "--no-open"),
            f"{REWORD}::test_people_strike_and_a_second_study_asks_with_what_is_left",
        ),
        **dict.fromkeys(
            ("--port", "--public-url"), f"{REWORD}::test_the_page_is_served_where_it_is_told"
        ),
    },
    "extend": dict.fromkeys(
        ("--repeats", "--layer", "--prompts"),
        f"{HERE}::test_extend_raises_one_layer_or_the_prompts_of_a_generator",
    ),
    "verify": {
        "--json": f"{CLI}/test_acquire.py::test_run_then_status_then_verify",
        "--recompute": f"{CLI}/test_demo.py::test_a_changed_estimate_is_found_by_the_recount",
    },
    "reparse": {
        "--parser": f"{CLI}/test_acquire.py::test_reparse_keeps_both_and_says_what_changed",
        "--truncated": f"{HERE}::test_another_terminal_rule_reads_what_was_cut",
        "--adopt": f"{CLI}/test_reading_replies.py"
        "::test_an_adopted_parser_is_the_runs_own_and_both_are_kept",
        "--judge": f"{CLI}/test_acquire.py::test_reparse_says_what_it_wants",
        "--out": f"{CLI}/test_acquire.py::test_reparse_keeps_both_and_says_what_changed",
        "--json": f"{CLI}/test_acquire.py::test_reparse_keeps_both_and_says_what_changed",
    },
    "import": {
        "--from": f"{IMPORT}::test_a_log_becomes_a_table_that_is_analysed",
        "--out": f"{IMPORT}::test_a_table_that_nobody_named_is_not_written_over",
        "--parser": f"{IMPORT}::test_a_log_becomes_a_table_that_is_analysed",
        **dict.fromkeys(
            (
                *("--judge", "--layer", "--item", "--prompt", "--order"),
                *("--repeat", "--stratum", "--gold", "--verdict"),
            ),
            NAMED,
        ),
        "--text": f"{HERE}::test_the_completion_may_stand_in_a_field_of_its_own",
        "--positions": FORGIVEN,
        "--blank": FORGIVEN,
        "--label": MAPPED,
        "--map-order": MAPPED,
        "--where": MAPPED,
        **dict.fromkeys(
            ("--custom-id", "--truncated"),
            f"{HERE}::test_custom_ids_of_a_batch_are_read_as_described_and_cut_answers_on_demand",
        ),
        "--drop-copies": f"{IMPORT}::test_copies_end_with_an_error_unless_one_of_each_is_asked_for",
        "--json": f"{IMPORT}::test_json_says_the_same",
    },
    "analyze": {
        **READS,
        **dict.fromkeys(("--draws", "--seed", "--permutations"), DRAWN),
        "--json": f"{CLI}/test_analyze.py::test_json_to_stdout_is_json_alone",
        "--tables": f"{CLI}/test_analyze.py::test_json_and_tables_go_to_files",
        "--prompt": f"{CLI}/test_analyze.py::test_one_prompt_alone_and_a_row_for_each",
        "--soft": f"{CLI}/test_check_probabilities.py::test_evidence_is_chosen_on_the_command_line",
        "--at-least": f"{CLI}/test_analyze.py::test_a_bar_of_ones_own_replaces_the_usual_ones",
        "--details": f"{CLI}/test_analyze.py"
        "::test_the_answer_comes_first_and_details_when_asked_for",
    },
    "report": {
        **READS,
        **dict.fromkeys(("--draws", "--seed", "--permutations"), DRAWN),
        "--output": f"{HERE}::test_a_page_has_the_title_and_the_place_that_were_asked_for",
        "--title": f"{HERE}::test_a_page_has_the_title_and_the_place_that_were_asked_for",
        "--open": f"{HERE}::test_a_page_is_opened_in_a_browser_where_there_is_one",
        "--figures": f"{CLI}/test_report.py::test_figures_are_written_for_a_paper",
        "--without-texts": f"{HERE}::test_tables_and_texts_are_there_as_asked",
        "--verify": f"{CLI}/test_report.py"
        "::test_a_run_becomes_a_page_with_its_replies_and_its_configuration",
    },
    "advise": {
        **READS,
        "--criterion": ADVICE,
        **dict.fromkeys(
            ("--judge", "--layer", "--incomplete", "--columns", "--verdicts", "--engine"),
            f"{DECIDE}::test_flags_say_which_calls_are_read",
        ),
        **dict.fromkeys(("--repeats", "--design"), f"{DECIDE}::test_repeats_and_design_of_advice"),
        **dict.fromkeys(
            ("--target", "--protocol", "--gold", "--price", "--seed"),
            f"{DECIDE}::test_targets_protocols_gold_price_and_seed",
        ),
        "--json": f"{DECIDE}::test_the_json_goes_to_a_file",
    },
    "score": {
        **READS,
        "--criterion": ADVICE,
        **dict.fromkeys(
            ("--judge", "--layer", "--incomplete", "--columns", "--verdicts", "--engine"),
            f"{DECIDE}::test_flags_say_which_calls_are_read",
        ),
        "--design": f"{DECIDE}::test_the_design_of_a_score_widens_it",
        **dict.fromkeys(
            (
                *("--prompts", "--orders", "--repeats", "--items", "--draw"),
                *("--value", "--difference", "--item-cost"),
            ),
            f"{DECIDE}::test_protocols_values_and_differences_of_a_score",
        ),
        **dict.fromkeys(
            ("--by", "--json"),
            "tests/unit/decide/test_score.py"
            "::test_a_frame_and_the_command_line_give_the_same_systems",
        ),
    },
    "view": {
        **dict.fromkeys(
            ("--port", "--no-open"),
            f"{CLI}/test_label.py"
            "::test_a_view_listens_where_it_is_told_and_lists_nothing_where_there_is_nothing",
        ),
        "--public-url": f"{CLI}/test_label.py::test_a_page_is_shown_under_the_address_of_a_proxy",
    },
    "label": {
        **dict.fromkeys(
            ("--labels", "--as", "--out", "--show", "--port", "--no-open"),
            f"{CLI}/test_label.py::test_labels_go_where_they_are_told_under_the_name_that_was_given",
        ),
        "--public-url": f"{CLI}/test_label.py::test_a_page_is_shown_under_the_address_of_a_proxy",
    },
    "compare": {
        **READS,
        **dict.fromkeys(("--draws", "--seed"), MOVED),
        "--prompt": f"{HERE}::test_prompts_of_a_comparison_are_chosen",
        "--by": f"{CLI}/test_compare.py::test_prompts_are_compared_as_judges_are",
        "--json": f"{CLI}/test_compare.py::test_one_judge_in_two_tables_is_named_by_its_source",
    },
    "gate": {
        **READS,
        **dict.fromkeys(
            ("--baseline", "--margin", "--match"),
            "tests/unit/uncertainty/test_baseline.py::test_the_command_line_holds_a_baseline",
        ),
        "--max": f"{CLI}/test_gate.py::test_exit_codes",
        "--min": f"{CLI}/test_gate.py::test_exit_codes",
        "--fixed": f"{CLI}/test_gate.py::test_new_items_are_another_question",
        "--new-items": f"{CLI}/test_gate.py::test_new_items_are_another_question",
        "--strict": f"{CLI}/test_gate.py::test_strict_supposes_an_unseen_item_as_bad_as_can_be",
        "--on-inconclusive": f"{CLI}/test_gate.py::test_exit_codes",
        "--level": f"{HERE}::test_a_gate_of_a_lower_level_has_a_lower_upper_bound",
        "--junit": f"{CLI}/test_gate.py::test_junit_tells_failed_from_undecided",
        "--summary": f"{CLI}/test_gate.py::test_the_summary_is_added_to_and_escaped",
        "--json": f"{CLI}/test_gate.py::test_json_has_verdict_and_limits",
    },
    "validate": {
        "--human": f"{LABELS}::test_from_file_to_sentence_in_one_command",
        "--positive": f"{LABELS}::test_from_file_to_sentence_in_one_command",
        "--columns": f"{LABELS}::test_from_file_to_sentence_in_one_command",
        "--labels": f"{LABELS}::test_json_to_stdout_is_json_alone",
        "--seed": f"{LABELS}::test_json_to_stdout_is_json_alone",
        "--json": f"{LABELS}::test_json_to_stdout_is_json_alone",
        "--min": f"{LABELS}::test_exit_codes_of_limits",
        "--certify": f"{LABELS}::test_labels_that_would_show_a_target",
        "--criterion": ONE_CRITERION,
        "--judge": f"{LABELS}::test_one_judge_layer_and_date_of_several",
        "--layer": f"{LABELS}::test_one_judge_layer_and_date_of_several",
        "--date": f"{LABELS}::test_one_judge_layer_and_date_of_several",
        "--report": f"{LABELS}::test_pages_have_figures",
    },
    "watch": {
        "--criterion": ONE_CRITERION,
        **dict.fromkeys(
            ("--looks", "--positive", "--seed", "--permutations", "--columns", "--json"),
            f"{LABELS}::test_what_a_watch_is_told",
        ),
        **dict.fromkeys(
            ("--judge", "--layer", "--human"),
            f"{LABELS}::test_a_watch_of_one_judge_and_layer_with_labels",
        ),
        "--report": f"{LABELS}::test_pages_have_figures",
    },
    "simulate point": {
        **SIMULATED,
        "--figure": f"{CLI}/test_simulate.py::test_point_writes_its_figure",
        "--html": f"{HERE}::test_the_simulated_figure_stands_on_a_page",
    },
    "simulate decision": {
        **SIMULATED,
        "--datasets": SIZES,
        "--prompts": SIZES,
        "--tau": f"{HERE}::test_a_rule_has_its_threshold",
    },
    "simulate panel": {**SIMULATED, "--experiments": SIZES},
    "simulate sampled": {
        **SIMULATED,
        "--datasets": SIZES,
        "--prompts": SIZES,
        "--repeats": SIZES,
        "--truth": f"{HERE}::test_a_simulation_of_sampled_prompts_has_a_truth_and_a_family",
        "--family": f"{HERE}::test_a_simulation_of_sampled_prompts_has_a_truth_and_a_family",
    },
    "simulate custom": SIMULATED,
    "paper": {
        **dict.fromkeys(("--items", "--datasets", "--experiments", "--all", "--seed"), PAPER),
        "--calls": f"{CLI}/test_paper.py::test_calls_are_recomputed_and_differences_shown",
        "--layer": f"{CLI}/test_paper.py::test_calls_are_recomputed_and_differences_shown",
        "--json": f"{CLI}/test_paper.py::test_json_carries_every_comparison",
        "--html": f"{CLI}/test_paper.py::test_every_comparison_stands_on_one_page",
        "--out": f"{CLI}/test_paper.py::test_tables_and_figures_of_any_calls_go_to_a_folder",
    },
    "release": dict.fromkeys(
        ("--out", "--without-texts", "--times", "--completions", "--json"),
        f"{CLI}/test_release.py::test_a_package_holds_what_was_asked_for",
    ),
    "schema": {"--out": f"{CLI}/test_study_commands.py::test_schema_goes_to_a_file"},
}

EXIT_CODES = {
    0: f"{CLI}/test_acquire.py::test_run_then_status_then_verify",
    1: f"{CLI}/test_gate.py::test_exit_codes",
    2: f"{CLI}/test_study_commands.py::test_check_lists_problems_with_exit_code_two",
    3: f"{CLI}/test_acquire.py::test_open_calls_leave_with_three_and_the_same_command_resumes",
    4: f"{CLI}/test_acquire.py::test_damage_leaves_with_four",
    5: f"{CLI}/test_acquire.py::test_a_refused_key_leaves_with_five",
    6: f"{CLI}/test_acquire.py::test_a_used_up_budget_leaves_with_six",
    7: f"{CLI}/test_gate.py::test_exit_codes",
    70: f"{CLI}/test_program.py::test_a_bug_says_that_it_is_one",
    130: f"{CLI}/test_acquire.py::test_ctrl_c_waits_for_replies_under_way_and_saves_them",
}


def options(command: click.Command) -> dict[str, tuple[str, ...]]:
    """Every flag of a command by its long name, with the other ways to write it."""
    found = {
        max(param.opts, key=len): tuple(param.opts)
        for param in command.params
        if isinstance(param, click.Option)
    }
    if command is program.cli:
        return {"--help": ("--help",), **found}
    # Every command has these; they are tried on the group, and before and after a command's name.
    return {flag: spellings for flag, spellings in found.items() if flag not in SHARED}


def tree(command: click.Command, words: tuple[str, ...] = ()) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {" ".join(words): command}
    context = click.Context(command)
    found = {} if words else {"": command}
    for name in command.list_commands(context):
        found |= tree(command.get_command(context, name), (*words, name))
    return found


COMMANDS = tree(program.cli)
ROWS = [(command, flag) for command, flags in FLAGS.items() for flag in flags]


def test_every_flag_of_every_command_has_a_row_and_no_row_is_stale():
    there = {(name, flag) for name, command in COMMANDS.items() for flag in options(command)}
    rows = set(ROWS)
    assert not there - rows, "flags that no test is named for"
    assert not rows - there, "rows of flags that are gone"


@pytest.mark.parametrize(("command", "flag"), ROWS, ids=lambda value: value or "judgelaw")
def test_the_test_of_a_flag_uses_it(command, flag):
    source = source_of(FLAGS[command][flag])
    spellings = options(COMMANDS[command])[flag]
    assert any(re.search(rf"(?<![\w-]){re.escape(s)}(?![\w-])", source) for s in spellings)


def test_the_exit_codes_of_the_page_are_those_of_the_program():
    told = re.findall(r"^\| (\d+) \|", PAGES["docs/howto/endpoint.md"].read_text(), re.MULTILINE)
    tree_of_errors = {
        e.exit_code
        for e in vars(errors).values()
        if isinstance(e, type) and issubclass(e, errors.JudgelawError)
    }
    from judgelaw.cli import gate

    others = {
        program.OK,
        program.BUG,
        program.INTERRUPTED,
        gate.PASSED,
        gate.FAILED,
        gate.INCONCLUSIVE,
    }
    assert set(map(int, told)) == tree_of_errors | others == set(EXIT_CODES)


@pytest.mark.parametrize("code", EXIT_CODES)
def test_the_test_of_an_exit_code_expects_it(code):
    assert re.search(rf"\b{code}\b", source_of(EXIT_CODES[code]))


def source_of(node: str) -> str:
    """The source of a test, with what it uses of its module: fixtures, helpers, constants."""
    path, *names = node.split("::")
    lines = (ROOT / path).read_text().splitlines()
    body, scope = parsed(ROOT / path).body, {}
    wanted = names[-1]
    for name in names[:-1]:
        body = scoped(body)[name].body
    scope = scoped(parsed(ROOT / path).body) | scoped(body)
    assert wanted in scope, f"{node}: there is no such test"
    seen: set[str] = set()
    waiting = [wanted]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        used = {n.id for n in ast.walk(scope[name]) if isinstance(n, ast.Name)}
        used |= {a.arg for a in ast.walk(scope[name]) if isinstance(a, ast.arg)}
        waiting += [other for other in used & set(scope) if other not in seen]
    return "\n".join(segment(lines, scope[name]) for name in seen)


def scoped(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """What a module or class defines, by name."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {t.id: node for t in node.targets if isinstance(t, ast.Name)}
    return found


def segment(lines: list[str], node: ast.stmt) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : node.end_lineno])


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
