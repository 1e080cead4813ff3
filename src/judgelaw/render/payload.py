"""The text that the model sees."""

from judgelaw.design import Item, Template


def payload(template: Template, item: Item, order: str) -> str:
    """Fill a template with an item in one pass; nothing inside an item's text is interpreted.

    >>> t = Template(id="p", parts=("Which? ", "candidate_a", " or ", "candidate_b", ""))
    >>> i = Item(id="1", stratum=None, instruction="", candidate_1="{candidate_b}",
    ...          candidate_2="y", gold=None)
    >>> payload(t, i, "BA")
    'Which? y or {candidate_b}'
    """
    first, second = item.candidate_1, item.candidate_2 or ""
    if order == "BA":
        first, second = second, first
    values = {
        "instruction": item.instruction,
        "candidate": item.candidate_1,
        "candidate_a": first,
        "candidate_b": second,
    }
    parts = list(template.parts)
    parts[1::2] = [values[name] for name in parts[1::2]]
    return "".join(parts)
