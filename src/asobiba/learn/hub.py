"""Runs on the Hugging Face Hub: the policy, its model card, configuration, record and curves. Needs the extra `hub`.

Only files of these names are sent and fetched, none of which holds code or pickles. Token, address (`HF_ENDPOINT`) and
cache are those of huggingface_hub.
"""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from asobiba.core.errors import AsobibaError, MissingExtra

POLICY = "policy.safetensors"
NEEDED = (POLICY, "README.md", "config.yml", "run.json")
FILES = (
    *NEEDED, "curve.csv", "practice.csv", "learning.csv", "pool.csv", "imitation.csv", "curve.svg", "payoff.svg",
)  # fmt: skip
"""The files of a run on the hub."""
_PICKLES = {".zip", ".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib", ".npy", ".npz"}


class HubError(AsobibaError, OSError):
    """Raised for a run that cannot be sent or fetched."""


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub") from None
    return huggingface_hub


def _failures(library: Any) -> tuple[type[Exception], ...]:
    """The library's errors for a refusal, a wrong name and a missing network."""
    from huggingface_hub.utils import get_session

    transport = importlib.import_module(type(get_session()).__module__.partition(".")[0])  # requests, httpx, httpx2
    return library.errors.HfHubHTTPError, OSError, ValueError, *filter(None, [getattr(transport, "HTTPError", None)])


def push(folder: str | Path, repository: str, *, private: bool = False, message: str = "") -> str:
    """Sends a run to a model repository, which is created if need be.

    Args:
        folder: a finished run of `asobiba train`.
        repository: `OWNER/NAME`.
        private: whether a new repository is visible to its owner only.
        message: of the commit.

    Returns:
        The address of the repository.

    Raises:
        MissingExtra: if huggingface_hub is not installed.
        HubError: for a folder that holds no finished run, and for what the hub refuses.
    """
    folder, library = Path(folder), _library()
    if folder.suffix in _PICKLES:
        raise HubError(f"{folder} holds pickles, which run code when they are read: only run folders are sent")
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise HubError(f"{folder} is not a finished run of asobiba train: it has no {', '.join(missing)}")
    api = library.HfApi(library_name="asobiba")
    added = [
        library.CommitOperationAdd(path_in_repo=name, path_or_fileobj=folder / name)
        for name in FILES
        if (folder / name).is_file()
    ]
    try:
        address = api.create_repo(repository, private=private, exist_ok=True)
        api.create_commit(repository, added, commit_message=message or f"The run {folder.name}")
    except _failures(library) as error:
        raise HubError(f"{repository} was not written: {error}") from error
    return str(address)


def pull(repository: str, folder: str | Path, *, revision: str | None = None) -> Path:
    """Fetches a run into a new folder, which `asobiba enjoy` and, as `sb3:FOLDER/policy.safetensors`, matches take.

    Args:
        repository: `OWNER/NAME`.
        folder: created; an existing one must be empty.
        revision: a branch, tag or commit.

    Returns:
        The folder.

    Raises:
        MissingExtra: if huggingface_hub is not installed.
        HubError: for a repository that holds no policy as safetensors, and for what the hub refuses.
    """
    folder, library = Path(folder), _library()
    if folder.exists() and any(folder.iterdir()):
        raise HubError(f"{folder} is not empty; choose another folder")
    api = library.HfApi(library_name="asobiba")
    try:
        held = api.list_repo_files(repository, revision=revision)
        if POLICY not in held:
            pickles = [name for name in held if PurePosixPath(name).suffix in _PICKLES]
            why = (
                f"; {', '.join(pickles)} may hold pickles, which are refused: reading them runs code" if pickles else ""
            )
            raise HubError(f"{repository} holds no {POLICY}{why}")
        fetched = api.snapshot_download(repository, revision=revision, allow_patterns=list(FILES))
    except HubError:
        raise
    except _failures(library) as error:
        raise HubError(f"{repository} was not fetched: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if name in held:
            shutil.copyfile(Path(fetched) / name, folder / name)
    return folder
