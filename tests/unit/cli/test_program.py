"""Every way to end has its exit code, and says what happened in words."""

import errno
import os
import re
import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner

from judgelaw import errors
from judgelaw.cli import gate, program
from support.pages import PAGES


@pytest.fixture
def command(monkeypatch):
    """Plant a command that does what a test tells it to."""

    def plant(action):
        planted = click.Command("planted", callback=action)
        monkeypatch.setattr(program.LazyGroup, "get_command", lambda *_: planted)
        with pytest.raises(SystemExit) as stop:
            program.main(["planted"])
        return stop.value.code

    return plant


def raises(error):
    def action():
        raise error

    return action


def test_a_command_that_ends_well_exits_with_zero(command):
    assert command(lambda: None) == 0


def test_a_command_may_choose_its_exit_code(command):
    assert command(lambda: 7) == 7


@pytest.mark.parametrize(
    "error", [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
)
def test_every_error_of_ours_is_one_line_and_its_exit_code(command, capsys, error):
    assert command(raises(error("value, rule, remedy"))) == error.exit_code
    assert capsys.readouterr().err == "judgelaw: value, rule, remedy\n"


def test_a_bug_says_that_it_is_one(command, capsys):
    assert command(raises(ZeroDivisionError("oops"))) == 70
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: oops" in shown
    assert "this is a bug" in shown


def test_an_interrupt_says_that_state_is_saved(command, capsys):
    assert command(raises(KeyboardInterrupt())) == 130
    assert "saved" in capsys.readouterr().err


def test_a_reader_that_left_is_no_error(command, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert command(raises(BrokenPipeError())) == 0


def test_an_unknown_command_suggests_the_near_one(capsys):
    with pytest.raises(SystemExit) as stop:
        program.main(["simlate"])
    assert stop.value.code == 2
    assert "did you mean 'simulate'" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_refuses_is_no_bug(command, capsys, number):
    assert command(raises(OSError(number, "", "/some/file"))) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"judgelaw: /some/file: {os.strerror(number)}; free the disk")


def test_another_error_of_the_system_is_a_bug_still(command):
    assert command(raises(OSError(errno.EINVAL, "odd"))) == 70


def test_help_groups_the_commands_and_lists_each_once():
    shown = CliRunner().invoke(program.cli, ["--help"]).output
    headings = re.findall(r"^  (\w+):$", shown, re.MULTILINE)
    assert headings == ["Start", "Answer", "More"]
    listed = re.findall(r"^    ([a-z]+)  ", shown, re.MULTILINE)
    assert listed == list(program.SHOWN)
    assert len(listed) == sum(map(len, program.GROUPS.values())), "a command in two groups"


def completed(words, monkeypatch, capsys):
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    monkeypatch.setenv("_JUDGELAW_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        program.main([])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("judgelaw ga", ["plain,gate"]),
        ("judgelaw gate --max", ["plain,--max"]),
        ("judgelaw completion f", ["plain,fish"]),
        ("judgelaw --verb", ["plain,--verbose"]),
    ],
)
def test_shells_complete_commands_options_and_choices(words, found, monkeypatch, capsys):
    assert completed(words, monkeypatch, capsys) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_the_shell_takes(shell, tmp_path):
    shown = CliRunner().invoke(program.cli, ["completion", shell])
    assert shown.exit_code == 0
    assert "_JUDGELAW_COMPLETE" in shown.output
    if (there := shutil.which(shell)) is not None:
        script = tmp_path / "script"
        script.write_text(shown.output)
        subprocess.run([there, "-n", str(script)], check=True)


def test_an_unknown_shell_is_refused_with_those_that_are_known():
    refused = CliRunner().invoke(program.cli, ["completion", "csh"])
    assert refused.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in refused.output


def test_commands_that_help_does_not_list_work_all_the_same():
    shown = CliRunner().invoke(program.cli, ["run", "--help"])
    assert shown.exit_code == 0
    listed = CliRunner().invoke(program.cli, ["--help"]).output
    assert not [name for name in program.UNSEEN if f"  {name} " in listed]


def test_the_exit_codes_of_the_page_are_those_of_the_program():
    told = re.findall(r"^\| (\d+) \|", PAGES["docs/howto/endpoint.md"].read_text(), re.MULTILINE)
    of_errors = {
        e.exit_code
        for e in vars(errors).values()
        if isinstance(e, type) and issubclass(e, errors.JudgelawError)
    }
    others = {program.OK, program.BUG, program.INTERRUPTED}
    others |= {gate.PASSED, gate.FAILED, gate.INCONCLUSIVE}
    assert {int(code) for code in told} == of_errors | others
