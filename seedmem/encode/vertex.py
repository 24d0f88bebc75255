"""``vertex:MODEL``: Google's embedding models, by its own client. Needs the extra `remote`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seedmem.encode.remote import (
    RemoteEncoder,
    RemoteOptions,
    Reply,
    malformed,
    refused,
    unreachable,
)
from seedmem.errors import EncoderError, EncoderUnavailableError

if TYPE_CHECKING:
    import httpx
    from google.genai import Client


def load_vertex(model: str, options: RemoteOptions) -> RemoteEncoder:
    """Return the encoder of ``model``, for example ``text-embedding-005`` (768-d).

    An API key is used where one is given; else the project, with the credentials that
    Google's client finds on the machine.

    Raises:
        EncoderError: the extra is not installed, there are no credentials, or the service does
            not answer (it is asked only when ``options`` do not say the dimension).
    """
    try:
        import httpx
        from google import genai  # noqa: F401
    except ImportError as error:
        raise EncoderError(
            f"vertex:{model} needs the extra `remote` ({error}): pip install 'seedmem[remote]'"
        ) from error
    http = httpx.Client(timeout=options.timeout)
    client = _client(options, http)
    name = f"vertex:{model}"
    return RemoteEncoder(
        name, lambda texts: _ask(client, name, model, texts), options, close=http.close
    )


def _client(options: RemoteOptions, http: "httpx.Client") -> "Client":
    from google.auth.exceptions import GoogleAuthError
    from google.genai import Client
    from google.genai.types import HttpOptions

    by_key = options.api_key is not None
    try:
        return Client(
            vertexai=True,
            api_key=options.api_key,
            project=None if by_key else options.project,
            location=None if by_key else options.location,
            http_options=HttpOptions(
                base_url=options.base_url,
                timeout=round(options.timeout * 1_000),  # milliseconds
                httpx_client=http,
            ),
        )
    except (GoogleAuthError, ValueError) as error:
        http.close()
        raise EncoderError(f"vertex needs an API key or a project: {error}") from error


def _ask(client: "Client", name: str, model: str, texts: Sequence[str]) -> Reply:
    import httpx
    from google.auth.exceptions import GoogleAuthError
    from google.genai.errors import APIError
    from google.genai.types import Content, Part

    contents = [Content(parts=[Part(text=text)]) for text in texts]
    try:
        answer = client.models.embed_content(model=model, contents=contents)
    except APIError as error:
        raise refused(name, error.code, error.response.headers, str(error.message)) from error
    except httpx.RequestError as error:
        raise unreachable(name, error) from error
    except GoogleAuthError as error:
        raise EncoderUnavailableError(
            f"{name}: no valid credentials: {error}", retry_after=0.0 if error.retryable else None
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise malformed(name, type(error).__name__) from error
    found = answer.embeddings or []
    tokens = sum((one.statistics and one.statistics.token_count) or 0 for one in found)
    return Reply([one.values for one in found], round(tokens))
