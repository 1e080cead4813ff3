"""The report in a real Chromium: what a reader can do, and what a hostile reply cannot."""

import base64
import gzip
import json
import re

import numpy as np
import pytest

from judgelaw.analysis import screen_of_analysis
from judgelaw.blocks import resolve
from judgelaw.page import Question, build
from judgelaw.page.sections.item_list import ranking
from judgelaw.tensor import VerdictTensor
from judgelaw.words import stream_name
from support.reports import HOSTILE, completions, hostile, report, tensor

pytestmark = pytest.mark.browser

ITEMS = 70
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two judges with replies, one of them never at the top of the list."""
    tensors = {(None, "one"): tensor(items=ITEMS, seed=5), (None, "two"): tensor(items=ITEMS)}
    replies = {name: completions(calls, f"reply of {name}") for (_, name), calls in tensors.items()}
    source = report(tensors, completions=replies)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(build(source, title="Two judges"), encoding="utf-8")
    return path, source, tensors


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """One judge whose items have questions and answers, some of them unreadable."""
    tensors = {(None, "one"): tensor(items=ITEMS, seed=5)}
    calls = tensors[None, "one"]
    questions = {
        item: Question(
            instruction=f"What is {n} plus {n}?\nA line more.",
            answers=(("candidate_1", f"It is {2 * n}."), ("candidate_2", f"Perhaps {2 * n + 1}.")),
        )
        for n, item in enumerate(calls.items)
    }
    replies = {"one": completions(calls, "reply")}
    path = tmp_path_factory.mktemp("page") / "asked.html"
    source = report(tensors, completions=replies, questions=questions)
    path.write_text(build(source, title="Questions"), encoding="utf-8")
    return path, calls


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """A judge of whose replies a third cannot be read."""
    laws = np.broadcast_to((0.4, 0.2, 0.1, 0.3), (ITEMS, 4, 2, 4))
    tensors = {(None, "one"): VerdictTensor.from_laws(laws, repeats=4, seed=1, orders=("AB", "BA"))}
    path = tmp_path_factory.mktemp("page") / "troubled.html"
    path.write_text(build(report(tensors), title="Trouble"), encoding="utf-8")
    return path, tensors


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    tensors, replies = hostile()
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    calls = next(iter(tensors.values()))
    text = "\n".join(HOSTILE)
    asked = {i: Question(instruction=text, answers=((text, text),)) for i in calls.items}
    source = report(tensors, completions=replies, questions=asked)
    path.write_text(build(source, title=HOSTILE[1]), encoding="utf-8")
    return path


def rows(page) -> list[str]:
    return page.locator("#explorer .item .open").all_inner_texts()


def overflow(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_it_opens_without_a_complaint_and_without_the_network(study, open_page):
    watched = open_page(study[0])
    watched.ready()
    assert watched.complaints == []
    assert watched.foreign == []


def test_every_figure_on_the_screen_equals_the_json(study, open_page):
    page = open_page(study[0]).ready()
    document = study[1].analysis.to_json()
    page.select_option("label:has-text('Order') select", "prompt")
    shown = page.evaluate(
        "[...document.querySelectorAll('data[data-path]')].map(d => [d.dataset.path, d.value])"
    )
    assert len(shown) > 500
    assert sum("item_values" in path for path, _ in shown) == 10
    for path, value in shown:
        assert float(value) == resolve(document, path), path


def test_the_explorer_finds_sorts_and_turns_pages(study, open_page):
    page = open_page(study[0]).ready()
    first = rows(page)
    assert len(first) == 10
    page.click("text=later →")
    assert len(rows(page)) == 10
    assert rows(page) != first
    page.fill("input[type=search]", "ITEM-06")
    assert sorted(rows(page)) == [f"item-06{n}" for n in range(10)]
    page.fill("input[type=search]", "no such item")
    assert page.inner_text(".status") == "no item fits"
    page.fill("input[type=search]", "")
    page.select_option("label:has-text('Order') select", "item")
    assert rows(page)[:3] == ["item-000", "item-001", "item-002"]
    page.select_option("label:has-text('Order') select", "total")
    values = estimates(page)
    assert len(values) == 10
    assert values == sorted(values, reverse=True)


def estimates(page) -> list[float]:
    """Return the estimates that items are ordered by."""
    return page.evaluate(
        "[...document.querySelectorAll('#explorer .estimate data')].map(d => Number(d.value))"
    )


def test_wrong_items_come_first_and_filters_keep_each_kind(asked, open_page):
    path, calls = asked
    (judge,) = report({(None, "one"): calls}).judges
    page = open_page(path).ready()
    assert rows(page) == [calls.items[i] for i in ranking(judge)[:10]]
    gold = [calls.verdicts.index(g) for g in calls.gold]
    sums = calls.counts.sum(axis=(1, 2))
    half = sums[:, calls.verdicts.index("tie")] / 2
    right = (sums[range(ITEMS), gold] + half) / sums.sum(axis=1)
    kinds = {
        "All": ITEMS,
        "Mostly wrong": int((right < 0.5).sum()),
        "Change often": judge.found.answer.contested.items,
        "Never changed": int(((sums > 0).sum(axis=1) == 1).sum()),
    }
    labels = page.locator(".filters label").all_inner_texts()
    assert [x.strip() for x in labels] == [f"{kind} {n}" for kind, n in kinds.items()]
    page.get_by_label("Mostly wrong").check()
    assert f"of {kinds['Mostly wrong']} items" in page.inner_text(".status")
    tags = page.locator("#explorer .item").evaluate_all(
        "all => all.map(a => [...a.querySelectorAll('.tag')].map(t => t.textContent))"
    )
    assert all("mostly wrong" in each for each in tags)


def test_the_explorer_keeps_to_a_stratum_and_changes_judges(study, open_page):
    page = open_page(study[0]).ready()
    page.select_option("label:has-text('Stratum') select", "Natural")
    assert "of 35 items" in page.inner_text(".status")
    page.select_option("label:has-text('Judge') select", "1")
    page.wait_for_function("document.querySelector('.status').textContent.includes('of 70')")
    two = study[1].judges[1]
    assert rows(page)[0] == two.tensor.items[ranking(two)[0]]


def test_the_explorer_shows_the_criteria_of_one_judge(open_page, tmp_path):
    names = [stream_name("one", criterion) for criterion in ("helpful", "safe")]
    tensors = {(None, name): tensor(items=5 + at, seed=at) for at, name in enumerate(names)}
    source = report(tensors)
    path = tmp_path / "criteria.html"
    path.write_text(build(source, title="Criteria"), encoding="utf-8")
    watched = open_page(path)
    watched.ready()
    page = watched.page
    assert len(rows(page)) == 5
    page.locator("#explorer").get_by_label("Judge").select_option(label="one · safe")
    assert len(rows(page)) == 6
    document = json.loads(json.dumps(source.analysis.to_json()))
    shown = page.locator("data[data-path^='judges.one.criteria.safe']").first
    where = shown.get_attribute("data-path")
    assert float(shown.get_attribute("value")) == pytest.approx(resolve(document, where))
    assert watched.complaints == []


def test_no_negative_estimate_is_called_clear_of_noise(study, open_page):
    page = open_page(study[0]).ready()
    page.select_option("label:has-text('Order') select", "-prompt")
    shown = page.evaluate(
        "[...document.querySelectorAll('#explorer .item')].map(r =>"
        " [Number(r.querySelector('.estimate data').value),"
        " r.querySelector('.belief').textContent])"
    )
    assert [value for value, _ in shown] == sorted(value for value, _ in shown)
    negative = {words for value, words in shown if value < 0}
    assert negative
    assert "clear of chance" not in negative


def test_an_item_opens_to_its_counts_and_a_cell_to_its_replies(study, open_page):
    _, _, tensors = study
    calls = tensors[None, "one"]
    page = open_page(study[0]).ready()
    page.fill("input[type=search]", "item-033")
    page.click("#explorer .open")
    cells = page.locator("#explorer .opened .cell span").all_inner_texts()
    assert cells == [" / ".join(map(str, n)) for n in calls.counts[33].reshape(-1, 4).tolist()]
    assert page.locator("#explorer svg.law circle").count() == 6
    page.click("#explorer button.cell >> nth=3")
    page.wait_for_selector(".replies pre")
    texts = page.locator(".replies pre").all_inner_texts()
    assert texts == [f"item-033|prompt 1|BA|{r}: reply of one" for r in range(4)]
    verdicts = page.locator(".replies .verdict").all_inner_texts()
    assert verdicts == [calls.verdicts[c] for c in calls.ranked[33, 1, 1]]
    page.click("#explorer .open")
    assert page.locator(".opened").count() == 0


def test_without_javascript_everything_but_the_replies_is_there(study, open_page):
    _, source, tensors = study
    analysis = source.analysis
    watched = open_page(study[0], java_script_enabled=False)
    page = watched.page
    assert page.locator(".plain-items details").count() == ITEMS
    entry = page.locator(".plain-items details", has_text="item-033")
    assert not entry.locator("td").first.is_visible()
    entry.locator("summary").click()
    cells = entry.locator("td").all_inner_texts()
    counts = tensors[None, "one"].counts[33].reshape(-1, 4).tolist()
    assert cells == [" / ".join(map(str, n)) for n in counts]
    assert screen_of_analysis(analysis).says in page.inner_text(".answer")
    closed = page.locator("#components")
    assert not closed.locator("svg.chart").first.is_visible()
    closed.locator("> summary").click()
    closed.locator(".folded > summary").first.click()
    assert closed.locator("svg.chart:visible").count() >= 2
    assert analysis.judges["one"].answer.title in page.inner_text("main")
    assert watched.complaints == []


def test_hostile_text_runs_nothing_and_is_shown(hostile_page, open_page):
    watched = open_page(hostile_page)
    page = watched.ready()
    for k in range(len(HOSTILE)):
        page.locator("#explorer .open").nth(k).click()
    page.locator("#explorer button.cell").first.click()
    page.wait_for_selector(".replies pre")
    reply = page.inner_text(".replies pre >> nth=0")
    assert "</script><script>window.pwned=1</script>" in reply
    assert "{{ 7*7 }}" in reply
    assert "⟨U+202E⟩" in reply
    page.select_option("label:has-text('Stratum') select", index=1)
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert "\u202e" not in page.content()
    assert (watched.complaints, watched.foreign, watched.dialogs) == ([], [], [])


def test_hostile_text_runs_nothing_without_the_policy_either(hostile_page, open_page, tmp_path):
    """Escaping alone must hold: the policy is the second wall, not the first."""
    html = hostile_page.read_text(encoding="utf-8")
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html, count=1)
    assert bare != html
    path = tmp_path / "bare.html"
    path.write_text(bare, encoding="utf-8")
    watched = open_page(path)
    page = watched.ready()
    page.locator("#explorer .open").first.click()
    page.locator("#explorer button.cell").first.click()
    page.wait_for_selector(".replies pre")
    assert page.evaluate("window.pwned") is None
    assert watched.foreign == []


def test_the_policy_stops_what_would_slip_in(study, open_page):
    watched = open_page(study[0])
    page = watched.ready()
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=1\">')"
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_nothing_sticks_out_at_any_width(study, open_page, width):
    page = open_page(study[0]).ready()
    page.set_viewport_size({"width": width, "height": 844})
    assert overflow(page) <= 0
    page.click("#explorer .open >> nth=0")
    assert overflow(page) <= 0


def test_a_shadow_says_that_a_wide_table_goes_on(study, open_page):
    """The right edge is darker than paper until the table is scrolled to its end."""
    page = open_page(study[0]).ready()
    page.set_viewport_size({"width": 320, "height": 844})
    page.click("#comparison > summary")
    table = page.locator(".scroll:has([data-table=judges])").first
    reach = table.evaluate("t => t.scrollWidth - t.clientWidth")
    assert reach > 0, "the table is chosen because it does not fit"
    box = table.bounding_box()

    def edge() -> bytes:
        """Return the picture of the blank strip above the headings, at the right edge."""
        table.scroll_into_view_if_needed()
        at = table.bounding_box()
        clip = {"x": at["x"] + box["width"] - 2, "y": at["y"] + 2, "width": 2, "height": 2}
        return page.screenshot(clip=clip)

    before = edge()
    table.evaluate("t => { t.scrollLeft = t.scrollWidth; }")
    assert edge() != before
    table.evaluate("t => { t.scrollLeft = 0; }")
    assert edge() == before


def test_it_prints_in_full_width_in_ink_on_paper(study, open_page):
    page = open_page(study[0], color_scheme="dark").ready()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    assert overflow(page) <= 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_charts_follow_the_dark_scheme(study, open_page):
    def ink(scheme):
        page = open_page(study[0], color_scheme=scheme).page
        return page.evaluate(
            "(() => { const t = [...document.querySelectorAll('svg.chart text')]"
            ".find(t => t.getAttribute('fill') === '#1d1f21');"
            "return [t, document.body].map(e => getComputedStyle(e)[e === t ? 'fill' :"
            " 'backgroundColor']) })()"
        )

    assert ink("light") == ["rgb(29, 31, 33)", "rgb(255, 255, 255)"]
    assert ink("dark") == ["rgb(233, 231, 227)", "rgb(21, 24, 28)"]


def open_components(page) -> None:
    page.click("#components > summary")
    page.click("#components .folded > summary >> nth=0")


def test_the_keyboard_reaches_every_mark_of_a_chart(study, open_page):
    page = open_page(study[0]).ready()
    open_components(page)
    chart = page.locator('[data-figure="components"] .only-wide svg').first
    labels = chart.locator(".mark").evaluate_all("m => m.map(x => x.getAttribute('aria-label'))")
    assert len(labels) == 5
    for _ in range(60):
        page.keyboard.press("Tab")
        if chart.evaluate("c => c === document.activeElement"):
            break
    else:
        pytest.fail("Tab never reaches the chart")
    seen = []
    for _ in labels:
        page.keyboard.press("ArrowRight")
        seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        assert page.inner_text("#tip") == seen[-1]
    assert seen == labels
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#tip") == labels[0]
    page.keyboard.press("End")
    assert page.inner_text("#tip") == labels[-1]
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_pointer_over_a_mark_shows_what_it_says(study, open_page):
    page = open_page(study[0]).ready()
    open_components(page)
    mark = page.locator('[data-figure="components"] .only-wide svg .mark').first
    mark.hover()
    assert page.inner_text("#tip") == mark.get_attribute("aria-label")


def test_the_numbers_can_be_saved(study, open_page, tmp_path):
    watched = open_page(study[0], accept_downloads=True)
    page = watched.ready()
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(tmp_path / "analysis.json")
    assert json.loads((tmp_path / "analysis.json").read_text()) == (study[1].document.found)


def test_five_thousand_items_stay_usable(open_page, tmp_path, monkeypatch):
    # Charts are blank: none of them is looked at here.
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: BLANK)
    tensors = {(None, "j"): tensor(items=5000, prompts=2, repeats=2)}
    path = tmp_path / "large.html"
    path.write_text(build(report(tensors), title="Large"), encoding="utf-8")
    watched = open_page(path)
    page = watched.ready()
    assert len(rows(page)) == 10
    took = page.evaluate(
        "(() => { const box = document.querySelector('input[type=search]'); box.value = '499';"
        "const start = performance.now(); box.dispatchEvent(new Event('input'));"
        "return performance.now() - start })()"
    )
    assert took < 1000
    assert "of 15 items" in page.inner_text(".status")
    plain = open_page(path, java_script_enabled=False).page
    assert plain.locator(".plain-items details").count() == 500
    assert "first 500 of 5000 items" in plain.inner_text("#items")


def test_payloads_unpack_outside_a_browser(study):
    """What the page carries is plain gzip: anybody can read it without us."""
    found = re.search(r'id="grid-0">([^<]+)<', study[0].read_text(encoding="utf-8"))
    grid = json.loads(gzip.decompress(base64.b64decode(found[1])))
    assert grid["shown"] == "one"


def test_an_item_shows_its_question_answers_and_gold(asked, open_page):
    path, calls = asked
    page = open_page(path).ready()
    page.fill("input[type=search]", "item-033")
    page.click("#explorer .open")
    shown = page.inner_text("#explorer .item")
    assert "What is 33 plus 33?" in shown
    assert "It is 66." in shown
    assert "Perhaps 67." in shown
    assert page.locator(".item dt.right").inner_text() == f"{calls.gold[33]} (right)"


def test_items_are_found_by_what_was_asked_and_answered(asked, open_page):
    page = open_page(asked[0]).ready()
    page.fill("input[type=search]", "perhaps 67")
    assert rows(page) == ["item-033"]
    page.fill("input[type=search]", "what is 41 plus")
    assert rows(page) == ["item-041"]


def test_items_are_filtered_by_verdict_and_by_disagreement(asked, open_page):
    path, calls = asked
    page = open_page(path).ready()
    totals = calls.counts.sum(axis=(1, 2))
    page.select_option("label:has-text('Usual verdict') select", "tie")
    usual = int((totals.argmax(axis=1) == calls.verdicts.index("tie")).sum())
    assert f"of {usual} items" in page.inner_text(".status") or usual == 0
    page.select_option("label:has-text('Usual verdict') select", "")
    page.get_by_label("Never changed").check()
    same = int(((totals > 0).sum(axis=1) == 1).sum())
    expected = f"of {same} items" if same else "no item fits"
    assert expected in page.inner_text(".status")


def test_a_link_to_an_item_opens_it(asked, open_page):
    path, _ = asked
    page = open_page(path).ready()
    page.select_option("label:has-text('Order') select", "item")
    page.click("text=later →")
    page.click("#explorer .open >> nth=0")
    link = page.locator(".opened a").get_attribute("href")
    assert link == "#item=item-010"
    assert page.evaluate("location.hash") == link
    again = open_page(path)
    again.page.goto(again.url + link)
    again.page.reload()
    again.ready()
    assert "What is 10 plus 10?" in again.page.inner_text(".item.whole")
    again.page.evaluate("location.hash = '#item=item-050'")
    again.page.wait_for_function(
        "[...document.querySelectorAll('.item.whole')].some("
        "a => a.textContent.includes('What is 50 plus'))"
    )
    again.page.evaluate("location.hash = '#item=%E0%A4%A'")
    assert again.complaints == []


def test_a_link_into_a_closed_part_opens_it(asked, open_page):
    watched = open_page(asked[0])
    page = watched.ready()
    assert not page.locator("#depth").evaluate("d => d.open")
    page.evaluate("location.hash = '#depth'")
    page.wait_for_function("document.getElementById('depth').open")


@pytest.mark.parametrize("kind", ["study", "troubled"])
def test_other_pages_are_at_most_six_screens_too(kind, open_page, request):
    """Several judges, and a judge with a problem."""
    page = open_page(request.getfixturevalue(kind)[0]).ready()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 800


def test_a_problem_is_told_in_letters_that_can_be_read(troubled, open_page):
    """axe-core finds no violation in the page of a judge with a problem."""
    page = open_page(troubled[0], bypass_csp=True).ready()
    assert page.locator(".do .act").first.inner_text() == "Repair its replies."
    assert violations(page) == {}


def test_several_judges_stand_one_below_the_other_on_a_phone(study, open_page):
    page = open_page(study[0]).ready()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    rows = page.locator("[data-table=first] tbody tr")
    tops = [rows.nth(i).bounding_box()["y"] for i in range(rows.count())]
    assert len(tops) > 1
    assert tops == sorted(tops)
    assert page.locator(".answer").bounding_box()["y"] < tops[0]


def test_the_open_page_is_at_most_six_screens(asked, open_page):
    page = open_page(asked[0]).ready()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 800
    first = page.locator(".seen .marks").bounding_box()
    assert first["y"] + first["height"] <= 800, "the answer is on the first screen"
    titles = page.locator("main > section.part > h2").all_inner_texts()
    assert titles == [
        "Why it errs",
        f"{ITEMS} items with their texts",
        "Prompts side by side",
        "Statistics",
    ]
    headings = page.locator("h1, h2, h3").all_text_contents()
    assert len(set(headings)) == len(headings), "no heading twice"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nobody_is_kept_out(asked, open_page, width, scheme):
    """axe-core finds no violation, with an item and every closed part open."""
    page = open_page(asked[0], color_scheme=scheme, bypass_csp=True).ready()
    page.set_viewport_size({"width": width, "height": 844})
    page.click("#explorer .open >> nth=0")
    assert violations(page) == {}


def violations(page) -> dict[str, list[str]]:
    """Open every part of a page, and return what axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = Axe().run(page).response["violations"]
    return {v["id"]: [n["html"][:120] for n in v["nodes"]][:3] for v in found}
