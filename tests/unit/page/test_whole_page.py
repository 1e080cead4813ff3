"""The page says what the analysis says: same figures, same words, nothing invented."""

import base64
import gzip
import hashlib
import json
import re
from contextlib import nullcontext
from functools import cache
from html.parser import HTMLParser
from unittest.mock import patch

import pytest

from judgelaw.analysis import Table, analyze
from judgelaw.blocks import resolve
from judgelaw.errors import InputError
from judgelaw.estimate import Estimand
from judgelaw.page import Report, build, page
from judgelaw.page.html import asset
from support.reports import HOSTILE, analysed, completions, hostile, report, tensor, unanimous

WORLDS = {
    "crossed": lambda: {(None, "j"): tensor()},
    "one order": lambda: {(None, "gpt-5.4"): tensor(orders=1)},
    "one prompt, three repeats": lambda: {(None, "j"): tensor(prompts=1, repeats=3)},
    "unanimous": lambda: {(None, "j"): unanimous()},
    "two judges, three layers": lambda: {
        ("evaluation", "a"): tensor(repeats=8),
        ("reference", "a"): tensor(repeats=16, seed=2),
        ("control", "a"): tensor(seed=3, lean=0),
        ("evaluation", "b"): tensor(seed=4, repeats=8),
    },
}


class Reader(HTMLParser):
    """Collects what a test asks of a page, without running it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.data, self.text, self.attributes, self.tags = [], [], [], []
        self._open = None
        self._raw = None
        self.scripts, self.styles = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag == "data":
            self._open = dict(attrs)
        if tag in {"script", "style"}:
            self._raw = (tag, dict(attrs), [])

    def handle_endtag(self, tag):
        if tag in {"script", "style"} and self._raw:
            kind, attrs, parts = self._raw
            (self.scripts if kind == "script" else self.styles).append((attrs, "".join(parts)))
            self._raw = None

    def handle_data(self, text):
        if self._raw is not None:
            self._raw[2].append(text)
            return
        self.text.append(text)
        if self._open is not None:
            self.data.append((self._open, text))
            self._open = None


@cache
def read(html: str) -> Reader:
    """Read a page, once for all tests of it."""
    reader = Reader()
    reader.feed(html)
    return reader


@cache
def built(name: str):
    source = report(WORLDS[name]())
    # What charts look like is tested elsewhere: one world draws them, the others need their text.
    with nullcontext() if name == "crossed" else undrawn():
        return source.analysis, build(source, title="A study")


def undrawn():
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    return patch("vl_convert.vegalite_to_svg", return_value=empty)


@pytest.fixture(params=WORLDS)
def world(request):
    return built(request.param)


def as_read(text: str) -> float:
    """Read a displayed figure as a person would."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace(",", "").removeprefix("< ")
    if "×" in plain:
        digits, power = plain.split(" × 10")
        plain = f"{digits}e{power.translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789'))}"
    return float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)


def test_every_figure_equals_the_json_at_its_path(world):
    analysis, html = world
    document = analysis.to_json()
    figures = [pair for pair in read(html).data if "data-path" in pair[0]]
    for attrs, _ in figures:
        assert float(attrs["value"]) == resolve(document, attrs["data-path"]), attrs
    figures = [pair for pair in figures if "data-in" not in pair[0]]
    assert len(figures) > 60
    for attrs, text in figures:
        value = resolve(document, attrs["data-path"])
        shown = as_read(text)
        last_digit = max(5.1e-5, abs(value) * 0.06) if "<" not in text else 0.001
        decimals = len(text.rstrip("%").rpartition(".")[2]) if "." in text else 0
        unit = 10.0**-decimals / (100 if text.endswith("%") else 1)
        assert abs(shown - value) <= max(0.5001 * unit, last_digit * ("×" in text)), (attrs, text)


def test_every_number_of_100_is_a_hundred_times_what_the_json_holds(world):
    analysis, html = world
    document = analysis.to_json()
    figures = [pair for pair in read(html).data if pair[0].get("data-in") == "hundredths"]
    assert len(figures) > 0
    for attrs, text in figures:
        value = resolve(document, attrs["data-path"])
        shown = 100 * value
        unit = 0.1 if "<" in text else 0.5001 if "." not in text else 0.0501
        assert abs(as_read(text) - shown) <= unit, (attrs, text)


def test_what_is_read_first_is_what_the_analysis_says(world):
    analysis, html = world
    reader = read(html)
    text = " ".join(" ".join(reader.text).split())
    several = len(analysis.judges) > 1
    for judge in analysis.judges.values():
        assert judge.answer.title in text
        assert several or judge.answer.says in text
        for x in judge.answer.actions if not several else ():
            assert x.text in text
            assert x.why in text


def test_every_estimate_of_the_json_is_in_the_page(world):
    analysis, html = world
    shown = {attrs.get("data-path") for attrs, _ in read(html).data}
    for name, judge in analysis.judges.items():
        where = f"judges.{name}" if "." not in name else f'judges["{name}"]'
        for component, value in judge.components.items():
            present = f"{where}.components.{component}.estimate" in shown
            assert present is not value.absent


def test_nothing_can_run_but_the_scripts_named_by_hash(world):
    _, html = world
    reader = read(html)
    policy = next(v for t, k, v in reader.attributes if t == "meta" and v and "default-src" in v)
    code = [text for attrs, text in reader.scripts if "type" not in attrs]
    for text in code + [text for _, text in reader.styles]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert code == [asset("charts.js"), asset("explorer.js")]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    names = {name for _, name, _ in reader.attributes}
    assert not [name for name in names if name.startswith("on") or name in {"style", "src"}]


def test_nothing_is_fetched(world):
    _, html = world
    links = {value for _, name, value in read(html).attributes if name in {"href", "src", "action"}}
    assert all(link.startswith("#") or link == "data:," for link in links)


def test_the_chart_script_stays_small():
    assert len(asset("charts.js").encode()) < 5_000
    assert len(asset("explorer.js").encode()) < 18_000


def test_an_absent_facet_is_said_and_never_zero():
    _, html = built("one prompt, three repeats")
    text = " ".join(read(html).text)
    assert "not varied" in text
    assert "prompt facet is absent" in text
    assert 'data-path="judges.j.components.prompt' not in html
    assert "Similarity of prompts" not in text


def test_a_judge_that_never_wavers_is_not_called_perfect():
    """No disagreement was seen: the page says how much there may be, and draws no shares."""
    analysis, html = built("unanimous")
    (judge,) = analysis.judges.values()
    text = " ".join(read(html).text)
    assert "Steady" in text or "Not known yet" in text
    assert "there is no excess to remove" in text
    assert "p = \N{EM DASH}" not in text
    for name, component in judge.components.items():
        assert component.interval[1] > component.call_interval[1] > 0, name
        assert f"components.{name}.interval[1]" in html
        assert f"components.{name}.call_interval[1]" in html
    assert "Widths are estimated parts of the total" not in text
    assert "The largest estimate is" not in text


def test_the_page_shows_intervals_and_no_band_of_a_component():
    """Bands are the paper's own method; they stay in its tables and in the JSON."""
    _, html = built("crossed")
    paths = [attrs.get("data-path") or "" for attrs, _ in read(html).data]
    assert any(path.endswith("components.prompt.interval[0]") for path in paths)
    assert any(path.endswith("components.prompt.call_interval[0]") for path in paths)
    assert any(path.endswith("components.prompt.share_interval[1]") for path in paths)
    assert any(path.endswith("depths.2.prompt.interval[0]") for path in paths)
    assert not [path for path in paths if "components" in path and "band" in path]


def test_sampled_prompts_show_the_error_of_drawing_them():
    tensors = {(None, "j"): tensor(prompts=6)}
    analysis = analyze(tensors, estimand=Estimand(design="sampled"), draws=50, permutations=0)
    with undrawn():
        html = build(Report(analysis=analysis, tensors=tensors), title="t")
    said = html[html.index("For the generator behind these prompts") :]
    assert 'data-path="judges.j.components.prompt.call_interval[0]"' in said[:400]
    assert "95%, prompts like these" in html
    assert "taken as a sample from their generator" in html


def test_a_negative_estimate_is_explained_once():
    source = report({(None, name): tensor(seed=8, prompts=2) for name in ("j", "k")})
    negative = [n for n, c in source.analysis.judges["k"].components.items() if c.estimate < 0]
    with undrawn():
        text = " ".join(read(build(source, title="t")).text)
    assert negative, "the seed is chosen so that a component comes out negative"
    assert text.count("too small for these calls to see") == 1


def test_hostile_names_are_shown_and_stay_text():
    tensors, replies = hostile()
    source = report(
        tensors,
        completions=replies,
        frozen={HOSTILE[1]: {HOSTILE[2]: HOSTILE[0]}},
        verified={HOSTILE[0]: HOSTILE[3]},
    )
    html = build(source, title=HOSTILE[0])
    reader = read(html)
    assert [attrs for attrs, _ in reader.scripts if "type" not in attrs] == [{}, {}]
    assert not [1 for _, name, _ in reader.attributes if name.startswith("on")]
    assert "img" not in reader.tags
    assert HOSTILE[3] in " ".join(reader.text), "template braces are shown, not evaluated"
    assert "\u202e" not in html
    html.encode("utf-8")


def test_the_page_carries_its_own_json():
    analysis, html = built("crossed")
    packed = next(text for attrs, text in read(html).scripts if attrs.get("id") == "analysis")
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == analysis.to_json()


def test_the_same_analysis_gives_the_same_page():
    _, html = built("crossed")
    again = build(report(WORLDS["crossed"]()), title="A study")
    one, other = (re.sub(r"c\d+-", "", text) for text in (html, again))
    assert one == other


def test_a_run_shows_its_configuration_and_checks():
    tensors = WORLDS["crossed"]()
    source = report(
        tensors,
        completions={"j": completions(tensors[None, "j"], "A")},
        frozen={"Judge j": {"sha256": "ab" * 32, "decoding": {"temperature": 1.0}}},
        verified={"Calls completed": "288"},
    )
    with undrawn():
        html = build(source, title="t")
    text = " ".join(read(html).text)
    assert "ab" * 32 in text
    assert "decoding.temperature" in text
    assert "Calls completed" in text
    assert 'id="text-0-0"' in html


def test_tensors_of_another_analysis_are_refused():
    tensors = WORLDS["crossed"]()
    with pytest.raises(InputError, match="no calls of judge 'j'"):
        build(
            Report(analysis=analysed(tensors), tensors={(None, "k"): tensors[None, "j"]}), title="t"
        )


def test_any_tables_make_a_page_of_the_same_look():
    table = Table(name="point", title="Bias & error", columns=("K", "bias"), rows=((5, -0.0001),))
    html = page("Simulation", "Corrected is unbiased.", [table], version="1.0")
    reader = read(html)
    assert ("Bias & error") in reader.text
    assert [text for _, text in reader.data] == ["5", "\N{MINUS SIGN}1.0 × 10⁻⁴"]
    assert 'id="explorer"' not in html
