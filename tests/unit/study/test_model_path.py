"""The file of an embedded model is found from the study's folder, wherever a command is given."""

import pytest

from judgelaw.errors import InputError, StudyChangedError
from judgelaw.judges.embedded import locate_model
from judgelaw.study import freeze, load_study, open_run
from support.studies import STUDY, write_items

EMBEDDED = STUDY[: STUDY.index("judges:")] + (
    "judges:\n  - {name: j, provider: embedded, model: m, model_path: models/m.gguf}\n"
)


@pytest.fixture
def study(tmp_path):
    write_items(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.gguf").write_bytes(b"GGUF")
    path = tmp_path / "study.yaml"
    path.write_text(EMBEDDED)
    return path


def test_it_starts_at_the_study_and_not_at_the_working_directory(study, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (judge,) = load_study("../study.yaml").study.judges
    assert locate_model(judge.model_path) == study.parent / "models" / "m.gguf"


def test_an_absolute_path_stays_as_it_is(study):
    study.write_text(EMBEDDED.replace("models/m.gguf", "/models/m.gguf"))
    (judge,) = load_study(study).study.judges
    assert judge.model_path == "/models/m.gguf"


def test_a_missing_file_is_shown_where_it_was_looked_for(study):
    (study.parent / "models" / "m.gguf").unlink()
    (judge,) = load_study(study).study.judges
    with pytest.raises(InputError, match=r"no file at .*models/m\.gguf.*starts at the study's"):
        locate_model(judge.model_path)


def test_a_folder_that_moved_is_the_same_run_and_another_file_is_not(study, tmp_path):
    run = freeze(load_study(study), tmp_path / "run").path
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("study.yaml", "items.jsonl"):
        (moved / name).write_bytes((tmp_path / name).read_bytes())
    freeze(load_study(moved / "study.yaml"), run)
    assert open_run(run).judges["j"].model_path == str(moved / "models" / "m.gguf")
    assert len(open_run(run).record.amendments) == 1
    study.write_text(EMBEDDED.replace("m.gguf", "other.gguf"))
    with pytest.raises(StudyChangedError, match=r"model_path: 'm\.gguf' -> 'other\.gguf'"):
        freeze(load_study(study), run)
