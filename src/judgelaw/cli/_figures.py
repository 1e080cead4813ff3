"""Figures leave as files here: the functions that draw them do no I/O."""

from pathlib import Path
from typing import Any

from judgelaw.errors import InputError, writing

_SUFFIXES = (".svg", ".pdf", ".png")


def check_figure_path(path: Path) -> None:
    """Refuse a path of another format, before the work that would be lost with it."""
    if path.suffix not in _SUFFIXES:
        raise InputError(f"{path}: a figure is written as {', '.join(_SUFFIXES)}; name it so")


def save_figure(chart: Any, path: Path) -> None:
    """Write an Altair chart as a static file, in the format of the suffix."""
    import vl_convert

    check_figure_path(path)
    spec = chart.to_dict()
    with writing(path):
        if path.suffix == ".svg":
            path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        elif path.suffix == ".pdf":
            path.write_bytes(vl_convert.vegalite_to_pdf(spec))
        else:
            path.write_bytes(vl_convert.vegalite_to_png(spec, scale=3))
