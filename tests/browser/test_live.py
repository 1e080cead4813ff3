"""The live pages in a real Chromium: runs that go on, and labels that survive everything."""

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager, nullcontext
from unittest.mock import patch

import pytest

import judgelaw as jl
from judgelaw.live import LabelBook, label_server, read_labelling, view_server
from judgelaw.study import write_sums
from servers.holding import provider
from servers.prefix import proxy
from servers.rewording import TEMPLATE
from servers.study import chat_judge, simulated_judge, write_study
from support.reports import HOSTILE

pytestmark = pytest.mark.browser

FEW = {"draws": 200, "permutations": 99}
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
PRICE = {"input_per_mtok": 10.0, "output_per_mtok": 100.0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs of judges that differ; charts are drawn where a test opens the report."""
    folder = tmp_path_factory.mktemp("runs")
    for name, law, drawn in (("steady", 0.97, True), ("open", 0.6, False)):
        judge = simulated_judge(law={"verdicts": {"candidate_1": law, "candidate_2": 1 - law}})
        study = write_study(folder / name, [judge], items=12, repeats=4, name=name, analysis=FEW)
        with nullcontext() if drawn else patch("vl_convert.vegalite_to_svg", return_value=BLANK):
            jl.audit(study, out=folder / "runs" / name)
    return folder / "runs"


def violations(page) -> list[tuple[str, str]]:
    """Return what axe-core finds in a page, with the first place of each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"][:120]) for v in found]


@contextmanager
def served(*words, cwd):
    """Run a command that serves, and give its address; it is ended as a user ends it."""
    command = [sys.executable, "-m", "judgelaw", *map(str, words), "--no-open"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.said = process.communicate(timeout=20)[1]


@contextmanager
def viewed(folder):
    """Serve runs from this process, where a test is not about the command that serves them."""
    with view_server(folder).beside() as address:
        yield address.url


def listed(tab, *, runs: int):
    """Wait until the list has so many runs: those that are not read at once follow."""
    tab.page.wait_for_selector(f"tbody tr:nth-child({runs})")
    return tab.page


def test_the_list_shows_runs_and_leads_to_their_reports(runs, open_tab):
    with served("view", runs, cwd=runs) as (process, url):
        tab = open_tab(url)
        page = listed(tab, runs=2)
        assert page.locator("tbody th a").all_inner_texts() == ["open", "steady"]
        assert page.locator(".state").all_inner_texts() == ["finished", "finished"]
        page.fill("input[type=search]", "STEA")
        assert page.locator("tbody th a").all_inner_texts() == ["steady"]
        page.click("text=report")
        page.wait_for_selector("#explorer:not([hidden]) .item")
        assert page.evaluate("self.origin") == "null"
        assert (tab.complaints, tab.foreign, tab.dialogs) == ([], [], [])
    assert process.returncode == 0
    assert "ended; runs go on as they were" in process.said


def test_changes_of_scores_are_points_and_no_share_of_100(runs, tmp_path, open_tab):
    shutil.copytree(runs / "open", tmp_path / "open")
    path = tmp_path / "open" / "results" / "analysis.json"
    found = json.loads(path.read_text())
    (judge,) = found["judges"].values()
    path.write_text(json.dumps({**found, "judges": {"sim": {**judge, "changes_in": "points"}}}))
    again = f"{judge['changes']['ask_again']['estimate']:.2f}"
    with viewed(tmp_path) as url:
        page = open_tab(url).page
        assert f"ask again {again}" in page.inner_text(".first")
        assert "of 100" not in page.inner_text(".first")
        page.click("tbody th a")
        page.wait_for_selector(".changes")
        assert f"{again} points (" in page.inner_text(".changes")
        assert "of 100" not in page.inner_text(".changes")


def test_two_runs_stand_side_by_side(runs, open_tab):
    with viewed(runs) as url:
        tab = open_tab(url)
        page = listed(tab, runs=2)
        button = page.locator("text=Show two side by side")
        assert button.is_disabled()
        for box in page.locator("tbody input[type=checkbox]").all():
            box.check()
        button.click()
        page.wait_for_selector("article:nth-child(2) .answer")
        assert page.locator("article h2").all_inner_texts() == ["open", "steady"]
        left, right = page.locator("article").all()
        assert left.bounding_box()["y"] == right.bounding_box()["y"]
        assert (tab.complaints, tab.foreign) == ([], [])
        assert violations(page) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert violations(page) == []


def test_a_run_is_watched_while_it_goes_on_and_shown_as_killed(tmp_path, open_tab):
    with provider(tmp_path / "provider", delay_s=0.02) as server:
        judge = chat_judge(server.base_url, price=PRICE)
        study = write_study(tmp_path, [judge], items=400, transport={"concurrency": 2})
        command = [sys.executable, "-m", "judgelaw", "run", str(study), "--out", "runs/a"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            server.until(30)
            with viewed(tmp_path / "runs") as url:
                page = open_tab(url).page
                assert page.locator(".state").inner_text() == "under way"
                page.click("tbody th a")
                page.wait_for_selector("dt:has-text('Rate') + dd:has-text('a second')")
                calls = page.locator("dt:has-text('Calls') + dd")
                before = calls.inner_text()
                page.wait_for_function(
                    "t => document.querySelector('dd').textContent !== t", arg=before
                )
                assert "USD" in page.inner_text("dt:has-text('Still to spend') + dd")
                assert page.locator(".answer").count() == 0, (
                    "no look at intervals while they narrow"
                )
                os.kill(process.pid, signal.SIGKILL)
                page.wait_for_selector(".state.killed")
                assert page.inner_text(".state") == "was killed, the same command goes on"


def test_before_the_analysis_declared_looks_are_shown_and_nothing_else(tmp_path, open_tab):
    stop = {"component": "prompt", "limit": 0.3, "looks": [4, 8]}
    study = write_study(tmp_path, [simulated_judge()], items=30, repeats=4, stop=stop)
    command = [sys.executable, "-m", "judgelaw", "run", str(study), "--out", "runs/a"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with viewed(tmp_path / "runs") as url:
        page = open_tab(url).page
        page.click("tbody th a")
        page.wait_for_selector("table.looks")
        said = page.inner_text("table.looks")
        assert "prompt is below 0.3" in said
        assert page.locator(".answer").count() == 0
        assert "What else the calls say" in page.inner_text("article")
        assert violations(page) == []


def test_a_new_run_appears_by_itself_and_a_lost_server_is_said(tmp_path, runs, open_tab):
    folder = tmp_path / "runs"
    folder.mkdir()
    with served("view", "runs", cwd=tmp_path) as (process, url):
        page = open_tab(url).page
        assert "No run here yet" in page.inner_text("tbody")
        shutil.copytree(runs / "open", folder / "later")
        page.wait_for_selector("tbody th a:has-text('open')")
        process.send_signal(signal.SIGINT)
        page.wait_for_selector(".lost")
        assert "no connection since" in page.inner_text(".lost")


def test_hostile_names_run_nothing_in_the_live_page(tmp_path, runs, open_tab):
    """Whatever an analysis, a ledger or a folder says is text."""
    for n, text in enumerate(HOSTILE):
        run = (
            tmp_path
            / "runs"
            / f"{n}{text.replace('/', '_').replace(chr(0), '')}".encode(errors="replace").decode()
        )
        shutil.copytree(runs / "open", run)
        path = run / "results" / "analysis.json"
        document = json.loads(path.read_text())
        judge = document["judges"].pop("sim")
        document["judges"][text] = {**judge, "sentence": text, "short": text}
        document["diagnostics"] = [{"subject": text, "headline": text, "verdict": "problem"}]
        path.write_text(json.dumps(document))
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["study"]["name"] = text.encode(errors="replace").decode()
        (run / "manifest.json").write_text(json.dumps(manifest))
        write_sums(run, ["manifest.json"])
    with view_server(tmp_path / "runs").beside() as address:
        tab = open_tab(address.url)
        page = tab.page
        page.wait_for_function("document.querySelectorAll('tbody tr').length === 6")
        assert "<svg onload=window.pwned=1>" in page.inner_text("tbody")
        for link in [a.get_attribute("href") for a in page.locator("tbody th a").all()]:
            page.goto(f"http://127.0.0.1:{address.port}{link}")
            page.wait_for_selector("article .state")
            assert page.evaluate("window.pwned") is None
        assert page.locator("img, iframe, object, embed, svg").count() == 0
        assert (tab.complaints, tab.foreign, tab.dialogs) == ([], [], [])


def test_a_page_of_another_origin_gets_nothing(runs, browser, tmp_path):
    """A site that the user visits meanwhile cannot read, frame or write."""
    with view_server(runs).beside() as address, provider(tmp_path / "p") as other:
        context = browser.new_context()
        page = context.new_page()
        page.route(
            "**/evil.html", lambda route: route.fulfill(body="<p>", content_type="text/html")
        )
        page.goto(f"http://127.0.0.1:{other.port}/evil.html")
        code = """async (url) => {
            const told = [];
            for (const options of [{}, {mode: 'no-cors'}, {method: 'POST', body: '{}'}]) {
                told.push(await fetch(url, options).then((a) => a.text()).catch(() => null));
            }
            const frame = document.createElement('iframe');
            frame.src = url; document.body.append(frame);
            await new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
            let inside = null;
            try { inside = frame.contentDocument.body.innerText; } catch (e) { /* kept out */ }
            return [told, inside, await new Promise((done) => {
                const events = new EventSource(url.replace('api', 'events'));
                events.onmessage = (e) => done(e.data); events.onerror = () => done(null);
            })];
        }"""
        told, inside, event = page.evaluate(code, f"{address.url}api/runs")
        assert [bool(text) for text in told] == [False, False, False]
        assert not inside
        assert event is None
        context.close()


LABELS = ("pass", "fail")


def label_table(folder, count=24):
    rows = [
        {"item": f"i{n:02d}", "question": f"Is {n} even?", "verdict": "pass"} for n in range(count)
    ]
    path = folder / "calls.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def labels_in(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def press(page, key):
    """Press a key and wait until the page has the answer."""
    before = page.evaluate("document.body.dataset.item")
    page.keyboard.press(key)
    page.wait_for_function(
        "t => document.body.dataset.item !== t && !document.body.dataset.busy", arg=before
    )
    return before


def test_twenty_labels_by_keyboard_survive_kills_of_browser_and_server(tmp_path, open_tab):
    table, out = label_table(tmp_path), tmp_path / "labels.csv"
    words = ("label", table, "--labels", "pass,fail", "--as", "ann", "--out", out)
    given = []
    for part in range(4):
        with served(*words, cwd=tmp_path) as (process, url):
            tab = open_tab(url)
            assert tab.page.inner_text("#count") == f"{5 * part} of 24 labelled"
            for n in range(5):
                key = "12"[(part + n) % 2]
                given.append((press(tab.page, key), LABELS[int(key) - 1]))
            assert (tab.complaints, tab.foreign) == ([], [])
            tab.context.close() if part % 2 else os.kill(process.pid, signal.SIGKILL)
    assert [(row["item"], row["label"]) for row in labels_in(out)] == given
    assert len({item for item, _ in given}) == 20
    assert {row["labeller"] for row in labels_in(out)} == {"ann"}
    beside = tmp_path / "labels-and-verdicts.csv"
    assert f"next: judgelaw validate {beside} --human label" in process.said
    told = {row["item"]: (row["verdict"], row["label"]) for row in labels_in(beside)}
    assert len(told) == 24
    assert {item: label for item, (_, label) in told.items() if label} == dict(given)


def test_notes_cannot_tell_undo_and_several_people(tmp_path, open_tab):
    table, out = label_table(tmp_path, count=3), tmp_path / "labels.csv"
    words = ("label", table, "--labels", "1-5", "--as", "ann", "--out", out)
    with served(*words, cwd=tmp_path) as (process, url):
        page = open_tab(url).page
        assert violations(page) == []
        assert "pass" not in page.inner_text("main").lower(), "the verdict is not shown"
        first = press(page, "4")
        assert press(page, "u") != first
        assert page.evaluate("document.body.dataset.item") == first
        assert labels_in(out) == []
        page.keyboard.press("n")
        page.keyboard.type("5 is too much, u see")
        page.keyboard.press("Enter")
        press(page, "3")
        press(page, "x")
        press(page, "5")
        assert "Every item has your label" in page.inner_text("h1")
        found = [(row["item"], row["label"], row["note"]) for row in labels_in(out)]
        assert [row[1:] for row in found] == [("3", "5 is too much, u see"), ("", ""), ("5", "")]
        assert found[0][0] == first
        bob = open_tab(f"{url}?as=bob").page
        assert bob.inner_text("#count") == "0 of 3 labelled"
        assert "others: ann 3" in bob.inner_text("header")
        press(bob, "1")
    assert [row["labeller"] for row in labels_in(out)] == ["ann", "ann", "ann", "bob"]
    assert "3 of 3 items have a label by ann" in process.said


def test_rewordings_are_read_beside_the_prompt_and_struck_by_key(tmp_path, open_tab):
    hostile = f"Judge the two answers fairly, as {HOSTILE[0]} would. "
    alternatives = [["Which one is better?", "Which wins?"], [hostile.strip(), "Be fair to both."]]
    prompts = {"policy": "generator", "grammar": "reworded", "count": 6, "rules": {}}
    prompts |= {"text": hostile + TEMPLATE, "alternatives": alternatives}
    study = write_study(tmp_path, [simulated_judge()], prompts=prompts)
    with served("reword", study, "--approve", "--as", "ann", cwd=tmp_path) as (process, url):
        tab = open_tab(url)
        page = tab.page
        total = int(page.inner_text("#count").split()[2])
        assert page.locator(".answers h2").all_inner_texts() == ["YOUR PROMPT", "REWORDED"]
        struck = []
        for _ in range(total):
            before, after = page.locator(".answers .body").all()
            assert before.inner_text().startswith(hostile.strip())
            marked = page.locator(".answers mark").all_inner_texts()
            both = before.inner_text() + after.inner_text()
            assert all(text.strip() in both for text in marked)
            assert bool(marked) == (before.inner_text() != after.inner_text())
            assert violations(page) == []
            strikes = bool(marked) and not struck
            item = press(page, "2" if strikes else "1")
            struck += [item] if strikes else []
        assert "Every item has your label" in page.inner_text("h1")
        assert (tab.complaints, tab.foreign) == ([], [])
    assert "people read 6 of them and struck" in process.said
    rows = labels_in(tmp_path / "rewordings/small/approvals.csv")
    assert [row["item"] for row in rows if row["label"] == "strike"] == struck


def test_hostile_items_run_nothing_while_they_are_labelled(tmp_path, open_tab):
    rows = [
        {"id": f"{n}", "instruction": text, "candidate_1": text, "candidate_2": text[::-1] or "x"}
        for n, text in enumerate(HOSTILE[:5])
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with served("label", path, "--as", HOSTILE[1], cwd=tmp_path) as (_, url):
        tab = open_tab(url)
        for key in "123x1":
            assert tab.page.evaluate("window.pwned") is None
            press(tab.page, key)
        assert tab.page.locator("img, iframe, object, embed, svg").count() == 0
        assert (tab.complaints, tab.foreign, tab.dialogs) == ([], [], [])
    found = labels_in(tmp_path / "items-labels.csv")
    assert {row["label"] for row in found} >= {"tie", ""}
    assert {row["labeller"] for row in found} == {HOSTILE[1]}


def test_a_label_that_was_not_saved_is_not_passed_over(tmp_path, open_tab):
    table, out = label_table(tmp_path), tmp_path / "labels.csv"
    words = ("label", table, "--labels", "pass,fail", "--out", out)
    with served(*words, cwd=tmp_path) as (process, url):
        page = open_tab(url).page
        item = page.evaluate("document.body.dataset.item")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        page.keyboard.press("1")
        page.wait_for_selector("[role=status]:has-text('Not saved yet')")
        assert page.evaluate("document.body.dataset.item") == item
        page.keyboard.press("u")
    assert labels_in(out) == []


def test_a_label_that_the_disk_does_not_take_is_kept_in_the_page_and_sent_again(tmp_path, open_tab):
    table, out = label_table(tmp_path), tmp_path / "labels.csv"
    words = ("label", table, "--labels", "pass,fail", "--as", "ann", "--out", out)
    free = resource.RLIM_INFINITY
    with served(*words, cwd=tmp_path) as (process, url):
        page = open_tab(url).page
        first = press(page, "1")
        item = page.evaluate("document.body.dataset.item")
        size = out.stat().st_size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, free))
        page.fill("#note", "why not")
        page.locator("#note").press("Enter")
        page.keyboard.press("2")
        page.wait_for_selector("body[data-kept] [role=status]:has-text('Not saved yet')")
        said = page.inner_text("[role=status]")
        assert "File too large" in said
        assert "Your label (fail) is kept in this page and sent again" in said
        assert page.evaluate("document.body.dataset.item") == item
        assert page.locator(".choices button").first.is_disabled()
        assert violations(page) == []
        assert [row["item"] for row in labels_in(out)] == [first]
        assert out.stat().st_size == size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (free, free))
        page.wait_for_selector("body:not([data-kept])")
        page.wait_for_function("t => document.body.dataset.item !== t", arg=item)
        assert page.inner_text("[role=status]") == ""
        found = [(row["item"], row["label"], row["note"]) for row in labels_in(out)]
        assert found == [(first, "pass", ""), (item, "fail", "why not")]
        out.write_text("item,label,labeller,note,time\n")
        press(page, "1")
        assert "put back 2 labels that it no longer had" in page.inner_text("[role=status]")
        assert len(labels_in(out)) == 3


def test_a_label_that_is_kept_in_the_page_can_be_taken_back(tmp_path, open_tab):
    table, out = label_table(tmp_path), tmp_path / "labels.csv"
    free = resource.RLIM_INFINITY
    with served("label", table, "--labels", "pass,fail", "--out", out, cwd=tmp_path) as (
        process,
        url,
    ):
        page = open_tab(url).page
        item = page.evaluate("document.body.dataset.item")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (out.stat().st_size, free))
        page.keyboard.press("1")
        page.wait_for_selector("body[data-kept]")
        page.keyboard.press("u")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (free, free))
        page.wait_for_selector("body:not([data-kept])")
        assert page.evaluate("document.body.dataset.item") == item
        assert labels_in(out) == []
        assert press(page, "2") == item
        assert [(row["item"], row["label"]) for row in labels_in(out)] == [(item, "fail")]


def test_two_tabs_of_one_person_lose_nothing_and_say_what_they_do_not_take(tmp_path, open_tab):
    table, out = label_table(tmp_path, count=3), tmp_path / "labels.csv"
    with served("label", table, "--labels", "pass,fail", "--out", out, cwd=tmp_path) as (_, url):
        one, two = open_tab(url).page, open_tab(url).page
        item = press(one, "1")
        assert press(two, "2") == item
        assert "has another label by" in two.inner_text("[role=status]")
        assert [(row["item"], row["label"]) for row in labels_in(out)] == [(item, "pass")]


@pytest.mark.parametrize("keeps_host", [True, False])
def test_pages_work_behind_a_proxy_under_a_path_of_its_own(tmp_path, runs, open_tab, keeps_host):
    labelling = read_labelling(label_table(tmp_path, count=3), labels=LABELS)
    with proxy("/team/labels/", keeps_host=keeps_host) as front, ExitStack() as stack:
        public = f"http://127.0.0.1:{front.port}/team/labels"
        book = stack.enter_context(LabelBook(tmp_path / "labels.csv"))
        server = label_server(labelling, book, labeller="ann", public=public)
        address = stack.enter_context(server.beside())
        front.behind = address.port
        tab = open_tab(address.url)
        press(tab.page, "1")
        assert len(book.labels) == 1
        assert (tab.complaints, tab.foreign) == ([], [])
        address = stack.enter_context(view_server(runs, public=public).beside())
        front.behind = address.port
        tab = open_tab(address.url)
        page = listed(tab, runs=2)
        page.click("tbody th a")
        page.wait_for_selector("article .state")
        page.click("text=Open the report")
        page.wait_for_selector("#explorer:not([hidden]) .item")
        assert (tab.complaints, tab.foreign) == ([], [])
        assert [referer for *_, referer in front.log if referer] == []


def test_a_proxy_that_nobody_declared_is_said_in_the_page(tmp_path, open_tab):
    labelling = read_labelling(label_table(tmp_path, count=3), labels=LABELS)
    with (
        proxy("/p/", keeps_host=False) as front,
        LabelBook(tmp_path / "labels.csv") as book,
        label_server(labelling, book, labeller="ann").beside() as address,
    ):
        front.behind = address.port
        page = open_tab(f"http://127.0.0.1:{front.port}/p/{address.token}/").page
        page.keyboard.press("1")
        page.wait_for_selector("[role=status]:has-text('start it with --public-url')")
        page.keyboard.press("u")


def test_an_audit_opens_its_own_page(tmp_path):
    """`audit --view` tells the address while it asks, and serves nothing once it has ended."""
    study = write_study(tmp_path, [simulated_judge()], items=4, analysis=FEW)
    command = [sys.executable, "-m", "judgelaw", "audit", str(study), "--view"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert "live: http://127.0.0.1:" in done.stderr
    assert "report: " in done.stdout
