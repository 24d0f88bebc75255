"""``openai:MODEL[@URL]``: any service with OpenAI's ``/embeddings``. Needs the extra `remote`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seedmem.encode.remote import (
    RemoteEncoder,
    RemoteOptions,
    Reply,
    malformed,
    refused,
    unreachable,
)
from seedmem.errors import EncoderError

if TYPE_CHECKING:
    import httpx

_PUBLIC = "https://api.openai.com/v1"


def load_openai(where: str, options: RemoteOptions) -> RemoteEncoder:
    """Return the encoder of ``where``: MODEL, or MODEL@URL of a compatible service.

    Raises:
        EncoderError: the extra is not installed, the address is none, or the service does not
            answer (it is asked only when ``options`` do not say the dimension).
    """
    try:
        import httpx
    except ImportError as error:
        raise EncoderError(
            f"openai:{where} needs the extra `remote`: pip install 'seedmem[remote]'"
        ) from error
    model, _, url = where.partition("@")
    address = url or options.base_url or _PUBLIC
    headers = {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
    try:
        client = httpx.Client(base_url=address, headers=headers, timeout=options.timeout)
    except httpx.InvalidURL as error:
        raise EncoderError(f"openai:{model}: {address!r} is no address: {error}") from error
    name = f"openai:{model}"
    return RemoteEncoder(
        name, lambda texts: _ask(client, name, model, texts), options, close=client.close
    )


def _ask(client: "httpx.Client", name: str, model: str, texts: Sequence[str]) -> Reply:
    import httpx

    body = {"model": model, "input": list(texts), "encoding_format": "float"}
    try:
        response = client.post("embeddings", json=body)
    except httpx.RequestError as error:
        raise unreachable(name, error) from error
    if response.status_code != 200:
        raise refused(name, response.status_code, response.headers, response.text)
    try:
        return _reply(response.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise malformed(name, f"{type(error).__name__}: {error}") from error


def _reply(answer: Any) -> Reply:
    """Return the vectors by ``index``, as the service may give them in any order."""
    ordered = sorted(answer["data"], key=lambda item: int(item["index"]))
    usage = answer.get("usage") or {}
    return Reply([item["embedding"] for item in ordered], int(usage.get("total_tokens") or 0))
