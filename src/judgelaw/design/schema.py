"""The JSON Schema of a study file, for editors and other programs."""

from typing import Any

from judgelaw.design.contracts import PRESETS
from judgelaw.design.study import Study

_TEXT = {"type": "string"}


def study_schema() -> dict[str, Any]:
    """Return the schema of a study as it is written: with presets, grids and short forms."""
    schema = Study.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    judge = definitions["JudgeSpec"]
    for name in ("family", "contract"):
        del judge["properties"][name]
    judge["properties"] = {
        "name": judge["properties"].pop("name"),
        "preset": {"enum": sorted(PRESETS), "description": "one of the paper's configurations"},
        "grid": {
            "type": "object",
            "additionalProperties": {"type": "array", "minItems": 1},
            "description": "values of decoding, stop, truncated, ...: one judge a combination",
        },
        **judge["properties"],
    }
    judge["required"] = ["name"]
    judge["anyOf"] = [{"required": ["preset"]}, {"required": ["provider", "model"]}]
    template = judge["properties"]["template"]
    template["anyOf"] = [_TEXT, *template["anyOf"]]
    transport = definitions["Transport"]["properties"]
    transport["timeout"] = {**transport["timeout_s"], "title": "Timeout"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
