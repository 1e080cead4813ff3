"""The embedded model as a study declares it; `judges/embedded.py` serves and asks it."""

from judgelaw.wire.form import Provider

PROVIDERS = (
    Provider(
        name="embedded",
        place=30,
        speaks=("openai-chat", "anthropic"),
        opens="judgelaw.judges.embedded:EmbeddedJudge",
        local=True,
        slots=True,
        fields=("grammar", "model_path", "n_parallel", "n_ctx", "threads", "prime"),
    ),
)
