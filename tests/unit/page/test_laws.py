from judgelaw.page.document import plain
from judgelaw.page.laws import laws
from support.reports import analysed, judge_part, tensor


def test_the_words_say_of_each_figure_what_a_point_of_it_is():
    calls = tensor(items=6)
    section = laws(judge_part(analysed({(None, "j"): calls})), calls)
    said = plain(section.blocks[0].paragraphs[0])
    every, few = (b for b in section.blocks if b.kind == "figure")
    assert "In the first figure a point is one item" in said
    assert 0 < every.wide.markup.count("near this law") <= len(calls.items)
    assert "in the small ones a point is one cell" in said
    assert plain(few.caption).startswith("Each cell of one item")
