# ruff: noqa: INP001 - a script, not part of a package
"""Write the project's URLs into a release: they start from where its repository is.

The tree names no address, since a clone may live anywhere. `make dist REPOSITORY=https://...` says
it, and the wheel and the source archive carry it; without it they carry no URL.
"""

import os
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "REPOSITORY"
"""The environment variable that holds the address."""


def project_urls(repository: str) -> dict[str, str]:
    """Return the URLs of a project by name, as package indexes list them.

    Args:
        repository: the address of the repository; empty where none is known.
    """
    if not repository:
        return {}
    address = urlsplit(repository)
    if address.scheme != "https" or not address.hostname or address.username is not None:
        message = f"{REPOSITORY}={repository!r}: write the address that people open, https://..."
        raise ValueError(message)
    root = repository.rstrip("/").removesuffix(".git")
    return {
        "Repository": root,
        "Issues": f"{root}/issues",
        "Changelog": f"{root}/blob/main/CHANGELOG.md",
        "Documentation": f"{root}/blob/main/docs/index.md",
    }


class ProjectUrls(MetadataHookInterface):
    """What the build asks for the metadata that `pyproject.toml` leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the URLs."""
        metadata["urls"] = project_urls(os.environ.get(REPOSITORY, ""))
