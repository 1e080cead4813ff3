"""A shared run and its folder: handed over, brought home whole, and never mixed up."""

import json
import subprocess
import sys
from uuid import uuid4

import psycopg
import pytest

from judgelaw.acquire import acquire, acquire_shared, reparse, with_parser, work_on
from judgelaw.acquire.readings import Readings
from judgelaw.acquire.verify import verify
from judgelaw.acquire.worker import INPUTS
from judgelaw.cli import main
from judgelaw.errors import (
    IncompleteRunError,
    InputError,
    JudgelawError,
    MissingExtraError,
    ProviderRefusedError,
    RunError,
)
from judgelaw.ledger import LEDGER_NAME, PostgresView, SqliteView, read_address
from judgelaw.study import extend, freeze, load_study, open_run
from servers.provider import Provider, first, reply, say
from servers.study import chat_judge, frozen_study, simulated_judge, write_study
from support.postgres import PASSWORD, Line, clean_database

CONTROL = [
    {"name": "audit", "role": "audit"},
    {"name": "control", "role": "control", "repeats": 3, "labels": 2},
]


def command(*argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    return stop.value.code


def test_a_run_through_postgresql_equals_one_through_sqlite(tmp_path, address):
    shared = frozen_study(tmp_path / "a", [simulated_judge()], layers=CONTROL)
    local = frozen_study(tmp_path / "b", [simulated_judge()], layers=CONTROL)
    acquire_shared(shared, address)
    acquire(local)
    assert (shared.path / "calls.parquet").read_bytes() == (
        local.path / "calls.parquet"
    ).read_bytes()
    assert verify(shared.path).ok
    with SqliteView(shared.path / LEDGER_NAME) as a, SqliteView(local.path / LEDGER_NAME) as b:
        assert a.totals() == b.totals()
        assert list(a.verdicts()) == list(b.verdicts())
        assert [(s.call, s.body) for s in a.completions()] == [
            (s.call, s.body) for s in b.completions()
        ]


def test_the_copy_holds_every_row_of_the_ledger(tmp_path, address):
    with Provider(first(reply(500), times=1)) as at:
        judge = chat_judge(at.base_url)
        frozen = frozen_study(tmp_path, [judge], transport={"backoff_s": 0.01})
        acquire_shared(frozen, address)
    with (
        SqliteView(frozen.path / LEDGER_NAME) as copy,
        PostgresView(address, "run") as shared,
    ):
        assert copy.totals() == shared.totals()
        assert copy.totals().failed == frozen.count
        for reading in ("calls", "attempts", "completions", "verdicts", "judged", "flags"):
            assert list(getattr(copy, reading)()) == list(getattr(shared, reading)()), reading
        assert copy.summaries() == shared.summaries()
        assert copy.verdict_counts() == shared.verdict_counts()
        assert copy.check() == []


def test_hidden_labels_never_leave_the_folder(tmp_path, address):
    frozen = frozen_study(tmp_path, [simulated_judge()], layers=CONTROL)
    acquire_shared(frozen, address, ask=False)
    with PostgresView(address, "run") as view:
        assert set(view.inputs()) == set(INPUTS)
        assert not [c for c in view.calls() if c.layer == "control" and "slot" not in c.prompt]


def test_more_repeats_are_handed_over_too(tmp_path, address):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire_shared(frozen, address)
    extend(frozen.path, 3)
    bigger = open_run(frozen.path)
    done = acquire_shared(bigger, address)
    assert (done.totals.planned, done.totals.open) == (24, 0)
    assert verify(frozen.path).ok


def test_verdicts_of_another_parser_survive_the_next_copy(tmp_path, address):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire_shared(frozen, address)
    other = with_parser(frozen.judges["sim"], {"regex": "(A|B|TIE)"})
    reparse(frozen, {"sim": other})
    acquire_shared(frozen, address)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert len({v.parser for _, v in view.verdicts()}) == 2
    assert verify(frozen.path).ok


def test_what_nobody_has_read_is_read_on_the_way_home(tmp_path, address, monkeypatch):
    """A worker that dies between a reply and its verdict costs neither."""
    with Provider() as at:
        judge = chat_judge(at.base_url, parser={"regex": "[AB]"})
        frozen = frozen_study(tmp_path, [judge])
        with monkeypatch.context() as blind:
            blind.setattr(Readings, "durable", lambda *_: None)
            blind.setattr("judgelaw.acquire.worker.bring_home", lambda *_: None)
            acquire_shared(frozen, address)
        with PostgresView(address, "run") as view:
            assert (view.totals().completed, list(view.verdicts())) == (16, [])
        acquire_shared(frozen, address, ask=False)
        assert len(at.seen) == 16
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert len(list(view.verdicts())) == 16
    assert verify(frozen.path).ok


def test_a_parser_that_runs_out_stops_its_judge_here_too(tmp_path, address, monkeypatch):
    monkeypatch.setattr("judgelaw.wire.bounded.SECONDS", 0.2)
    with Provider(say("A" * 60 + "!")) as at:
        judge = chat_judge(at.base_url, parser={"regex": "^(A+)+$"})
        frozen = frozen_study(tmp_path, [judge], items=10, transport={"concurrency": 2})
        done = acquire_shared(frozen, address)
        with pytest.raises(InputError, match="its parser ran out of time on 3 of 3 replies"):
            done.raise_if_open()
        asked = len(at.seen)
        assert done.totals.completed == asked < 80
        assert done.unread == asked - 3
        with pytest.raises(InputError):
            acquire_shared(frozen, address).raise_if_open()
        assert len(at.seen) == asked
    assert verify(frozen.path).ok


def test_one_run_has_one_ledger(tmp_path, address):
    local = frozen_study(tmp_path / "local", [simulated_judge()])
    acquire(local)
    with pytest.raises(InputError, match=r"keeps its own ledger\.sqlite"):
        acquire_shared(local, address)
    shared = frozen_study(tmp_path / "shared", [simulated_judge()])
    acquire_shared(shared, address, ask=False)
    with pytest.raises(RunError, match=r"are asked through postgresql://.*give `--ledger`"):
        acquire(shared)


def test_calls_that_nobody_can_answer_end_a_worker_with_words(tmp_path, address):
    with Provider(reply(500)) as at:
        judge = chat_judge(at.base_url)
        transport = {"attempts": 2, "backoff_s": 0.01}
        frozen = frozen_study(tmp_path, [judge], transport=transport, items=1, repeats=1)
        acquire_shared(frozen, address, ask=False)
        done = work_on(address, "run")
        assert len(at.seen) == 2 * frozen.count
        with pytest.raises(IncompleteRunError, match="failed 2 times each"):
            done.raise_if_open()
        # Nobody is at work, so another start is another round.
        work_on(address, "run")
        assert len(at.seen) == 4 * frozen.count


def test_a_worker_whose_key_is_refused_leaves_the_calls_to_others(tmp_path, address):
    with Provider(reply(401, {"error": {"message": "bad key"}})) as at:
        frozen = frozen_study(tmp_path, [chat_judge(at.base_url)])
        acquire_shared(frozen, address, ask=False)
        refused = work_on(address, "run")
        with pytest.raises(ProviderRefusedError, match="bad key"):
            refused.raise_if_open()
        at.act = say()
        assert work_on(address, "run").totals.open == 0


def test_a_worker_before_its_run_is_ready_is_told_so(address):
    from judgelaw.ledger import PostgresLedger

    PostgresLedger(address, "run").close()
    with pytest.raises(RunError, match="still being frozen"):
        work_on(address, "run")


class TestCommands:
    @pytest.fixture
    def study(self, tmp_path):
        return write_study(tmp_path, [simulated_judge()], items=1, repeats=1)

    def test_freeze_then_work_then_finish(self, study, url, capsys):
        assert command("run", study, "--ledger", url, "--freeze-only") == 0
        assert "4 calls wait for workers" in capsys.readouterr().err
        assert command("worker", "--ledger", url) == 0
        assert "small: 4 of 4 calls done" in capsys.readouterr().err
        assert command("run", study, "--ledger", url) == 0
        run = study.parent / "runs" / "small"
        assert capsys.readouterr().out.strip() == str(run / "calls.parquet")
        assert command("verify", run) == 0
        assert command("status", run, "--ledger", url, "--json") == 0
        capsys.readouterr()

    def test_a_live_look_counts_what_the_copy_does_not_have_yet(self, study, url, capsys):
        command("run", study, "--ledger", url, "--freeze-only")
        command("worker", "--ledger", url, "--run", "small")
        run = study.parent / "runs" / "small"
        capsys.readouterr()
        assert command("status", run, "--json") == 0
        assert json.loads(capsys.readouterr().out)["completed"] == 0
        assert command("status", run, "--ledger", url, "--json") == 0
        assert json.loads(capsys.readouterr().out)["completed"] == 4

    def test_a_worker_takes_every_run_in_turn(self, tmp_path, url, capsys):
        for name in ("one", "two"):
            study = write_study(tmp_path / name, [simulated_judge()], items=1, repeats=1)
            out = tmp_path / name
            assert command("run", study, "--ledger", url, "--freeze-only", "--out", out / name) == 0
        assert command("worker", "--ledger", url) == 0
        said = capsys.readouterr().err
        assert "one: 4 of 4 calls done" in said
        assert "two: 4 of 4 calls done" in said

    def test_an_empty_database_says_what_to_do(self, url, capsys):
        assert command("worker", "--ledger", url) == 3
        assert "holds no run" in capsys.readouterr().err

    def test_asking_nothing_needs_somebody_who_does(self, study):
        assert command("run", study, "--freeze-only") == 2


UNESCAPED = (
    "postgresql://me:canary/Pa55word@127.0.0.1:9/db",
    "postgresql://me:canary@Pa55word@127.0.0.1:9/db",
    "postgresql://me:canary@Pa55/word@127.0.0.1:9/db",
    "postgresql://me:canary/Pa55@word@127.0.0.1:9/db",
    "postgresql://me:canary?Pa55word@127.0.0.1:9/db",
    "postgresql://me:canary?user=Pa55word@127.0.0.1:9/db",
    "postgresql://me:canary%Pa55word@127.0.0.1:9/db",
    "postgresql://me:canary-Pa55word",
    "postgresql://me:canary/Pa55word",
    "postgresql://me@corp:canary-Pa55word@127.0.0.1:9/db",
    "postgresql://canary Pa55word@127.0.0.1:9/db",
    "postgresql://me:9/canary/Pa55word",
)
"""Addresses as they are written by hand, with what the password means to an address in it."""


class TestPassword:
    """The password of the ledger is nowhere but on the wire."""

    def test_no_file_and_no_word_holds_it(self, tmp_path, url, capsys):
        line = Line(url)
        study = write_study(tmp_path, [simulated_judge()])
        assert command("run", study, "--ledger", line.url) == 0
        assert command("worker", "--ledger", line.url) == 0
        assert command("status", tmp_path / "runs" / "small", "--ledger", line.url) == 0
        line.refuse()
        assert command("worker", "--ledger", line.url) == 3
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        assert "postgresql://postgres@127.0.0.1" in said.err
        for file in tmp_path.rglob("*"):
            if file.is_file():
                assert PASSWORD.encode() not in file.read_bytes(), file
        note = json.loads((tmp_path / "runs" / "small" / "ledger.json").read_text())
        assert note["url"].startswith("postgresql://postgres@127.0.0.1:")
        line.close()

    @pytest.mark.parametrize(
        "given",
        [
            f"mysql://me:{PASSWORD}@host/db",
            f"postgresql://me:{PASSWORD}@host:port/db",
            f"postgresql://me:{PASSWORD}@[::1/db",
            f"postgresql://me:{PASSWORD}@h/db?unknown_option=1",
            f"me:{PASSWORD}",
        ],
    )
    def test_a_wrong_address_is_refused_without_repeating_it(self, given):
        with pytest.raises(JudgelawError) as refused:
            read_address(given).connect()
        assert PASSWORD not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.exit_code in (2, 3)

    @pytest.mark.parametrize("argv", [("run", "study.yaml"), ("worker",)])
    @pytest.mark.parametrize("given", UNESCAPED)
    def test_a_password_that_is_not_escaped_is_neither_shown_nor_stored(
        self, tmp_path, capfd, monkeypatch, argv, given
    ):
        write_study(tmp_path, [simulated_judge()])
        monkeypatch.chdir(tmp_path)
        assert command(*argv, "--ledger", given) == 2
        monkeypatch.setenv("JUDGELAW_LEDGER", given)
        assert command("run", "study.yaml", "--ledger", "env:JUDGELAW_LEDGER") == 2
        said = "".join(capfd.readouterr())
        assert "as %40 %3A %2F %3F %23 %25" in said
        for part in ("canary", "Pa55"):
            assert part not in said
        assert not list(tmp_path.rglob("ledger.json"))

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("postgresql://me:a%40b%2Fc@h/db", "postgresql://me@h/db"),
            ("postgresql://me@[::1]:5433/db?sslmode=disable", "postgresql://me@::1:5433/db"),
            ("postgres://a,b/db?target_session_attrs=read-write", "postgresql://a%2Cb/db"),
            ("postgresql:///db?host=/run/postgresql", "postgresql://%2Frun%2Fpostgresql/db"),
            ("postgresql://h/db?user=me%40corp&password=a/b", "postgresql://me%40corp@h/db"),
        ],
    )
    def test_an_address_that_says_one_thing_is_taken(self, given, shown):
        assert str(read_address(given)) == shown

    def test_what_is_shown_has_no_password_in_any_form(self, monkeypatch):
        monkeypatch.setenv("THE_LEDGER", "postgresql://me:p%40ss%20word@db.example:6432/judges")
        address = read_address("env:THE_LEDGER")
        assert str(address) == "postgresql://me@db.example:6432/judges"
        assert "p@ss" not in repr(address)
        assert "p%40ss" not in repr(address)
        assert address.hide("wrong p@ss word, or p%40ss%20word") == "wrong ***, or ***"

    def test_a_variable_that_is_not_set_is_named(self):
        with pytest.raises(InputError, match="NOT_SET_ANYWHERE: the variable is not set"):
            read_address("env:NOT_SET_ANYWHERE")


def test_without_the_driver_the_one_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r'pip install "judgelaw\[postgres\]"'):
        read_address("postgresql://host/db")


def test_the_driver_is_loaded_only_where_it_is_needed():
    code = "import sys, judgelaw.acquire, judgelaw.ledger; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_changed_study_is_refused_before_the_ledger_is_touched(tmp_path, address):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire_shared(frozen, address)
    study = write_study(tmp_path, [simulated_judge(model="another")])
    with pytest.raises(RunError, match="was frozen from another study"):
        freeze(load_study(study), frozen.path)


class TestBinding:
    """A folder belongs to a ledger once that ledger holds its calls, and not before."""

    def test_a_ledger_that_was_never_reached_binds_nothing(self, tmp_path, url):
        study = write_study(tmp_path, [simulated_judge()])
        assert command("run", study, "--ledger", "postgresql://me@127.0.0.1:9/db") == 3
        run = tmp_path / "runs" / "small"
        assert not (run / "ledger.json").exists()
        assert command("run", study, "--ledger", url) == 0
        assert (run / "ledger.json").exists()

    def test_a_ledger_that_was_never_reached_leaves_the_folder_to_itself(self, tmp_path):
        study = write_study(tmp_path, [simulated_judge()])
        assert command("run", study, "--ledger", "postgresql://me@127.0.0.1:9/db") == 3
        assert command("run", study) == 0

    def test_a_ledger_of_another_study_binds_nothing(self, tmp_path, url):
        study = write_study(tmp_path / "a", [simulated_judge()])
        assert command("run", study, "--ledger", url) == 0
        other = write_study(tmp_path / "b", [simulated_judge()], seed=12)
        assert command("run", other, "--ledger", url) == 2
        assert not (tmp_path / "b" / "runs" / "small" / "ledger.json").exists()
        assert command("run", other) == 0

    @pytest.mark.parametrize("copy", ["kept", "removed"])
    def test_a_ledger_that_lost_its_replies_is_not_filled_again(self, tmp_path, url, capsys, copy):
        """As after a failover to a replica that was behind, or a restore."""
        with Provider() as at:
            study = write_study(tmp_path, [chat_judge(at.base_url)])
            assert command("run", study, "--ledger", url) == 0
            run, paid = tmp_path / "runs" / "small", len(at.seen)
            if copy == "removed":
                (run / LEDGER_NAME).unlink()
            clean_database()
            assert command("run", study, "--ledger", url) == 4
            assert len(at.seen) == paid
        assert "failed over to a replica that was behind" in capsys.readouterr().err
        if copy == "kept":
            with SqliteView(run / LEDGER_NAME) as view:
                assert view.totals().completed == paid


def test_a_worker_needs_rights_on_rows_only(tmp_path, url, capsys):
    """The owner of the run makes its schema; whoever asks its calls creates nothing."""
    role = f"worker_{uuid4().hex[:12]}"
    study = write_study(tmp_path, [simulated_judge()])
    assert command("run", study, "--ledger", url, "--freeze-only") == 0
    theirs = url.replace("postgres:@", f"{role}@")
    assert theirs != url
    admin_at(url, f"CREATE ROLE {role} LOGIN")
    try:
        assert command("worker", "--ledger", theirs) == 3
        assert "permission denied" in capsys.readouterr().err
        admin_at(
            url,
            "REVOKE ALL ON SCHEMA public FROM PUBLIC",
            f'GRANT USAGE ON SCHEMA "judgelaw:small" TO {role}',
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES "
            f'IN SCHEMA "judgelaw:small" TO {role}',
        )
        assert command("worker", "--ledger", theirs) == 0
        assert command("worker", "--ledger", theirs, "--run", "other") == 3
    finally:
        admin_at(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def admin_at(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
