"""The way to a Temporal server: where it is, and what a person does if it isn't there."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TypedDict

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.service import RPCError, TLSConfig

from holdfast.contracts.bounds import MAX_BLOB_BYTES
from holdfast.contracts.errors import AppError, HoldfastError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import one_line
from holdfast.workflows.payloads import EncodedFailureConverter, TolerantCodec, data_converter

DEFAULT_ADDRESS = "localhost:7233"

CONNECT_TIMEOUT_SECONDS = 3.0
"""Seconds; a server that is there answers within a few milliseconds."""

CREDENTIALS = frozenset(
    {
        "TEMPORAL_API_KEY",
        "TEMPORAL_CODEC_AUTH",
        "TEMPORAL_GRPC_META_AUTHORIZATION",
        "TEMPORAL_TLS_CLIENT_KEY_DATA",
    }
)
"""What the SDK reads of the environment to prove itself with, beside headers of any name."""


class Polling(TypedDict):
    """How a worker asks for the work of runs, as the SDK has it."""

    max_concurrent_workflow_task_polls: int
    nonsticky_to_sticky_poll_ratio: float
    sticky_queue_schedule_to_start_timeout: timedelta


POLLING = Polling(
    max_concurrent_workflow_task_polls=25,
    nonsticky_to_sticky_poll_ratio=0.8,
    sticky_queue_schedule_to_start_timeout=timedelta(seconds=2),
)
"""
Twenty requests are for new runs, and for those that no worker has in memory; the SDK has one.

Who starts a run may write what the SDK (1.35) can't read, as a failure of a hundred causes: the
request that is answered with it is repeated up to ten seconds later, and no worker hears of it.
A run whose worker was killed waits for two seconds before any worker may take it over.
"""

SWITCH_POLLS = 20
"""As many are for the kill switch, on whose queue anybody may start something, too."""

_CAUSE = Pattern(r'(?:message|error): "([^"]+)"')


async def connect(codec: PayloadCodec | None = None) -> Client:
    """
    Connect to the server that Temporal's own variables or configuration file name.

    With a *codec* it reads and writes no payload but what that makes of it.

    Raises HoldfastError, on one line, when they can't be read or nothing answers there.
    """
    config = _load_config()
    converter = _convert_with(codec)
    address = config.setdefault("target_host", DEFAULT_ADDRESS)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            return await Client.connect(**config, data_converter=converter)
    except ValueError as error:
        raise HoldfastError(f"{address!r} is no address of a Temporal server: {error}") from None
    except (RuntimeError, TimeoutError) as error:
        said = [cause.groups[1] for cause in _CAUSE.matches(str(error))]
        cause = f" ({said[-1]})" if said else ""
        raise HoldfastError(
            f"no Temporal at {address}: start one with 'holdfast dev' or set TEMPORAL_ADDRESS"
            f"{cause}"
        ) from None


def with_codec(client: Client, codec: PayloadCodec | None) -> Client:
    """Return a client of the same connection that has a codec; without one it is the same."""
    if codec is None:
        return client
    config = client.config()
    config["data_converter"] = _convert_with(codec)
    return Client(**config)


async def build_client(client: Client, codec: PayloadCodec | None) -> Client:
    """
    Return the client with which a worker of an app with this codec, if any, serves runs.

    Raises AppError where the server takes less than they send, which would hold them for ever.
    """
    asked = DescribeNamespaceRequest(namespace=client.namespace)
    with suppress(RPCError):  # it may not say
        found = await client.workflow_service.describe_namespace(asked)
        most = found.namespace_info.limits.blob_size_limit_error
        if 0 < most < MAX_BLOB_BYTES:
            raise AppError(
                f"the server takes payloads of {most:,} bytes at most, and runs send "
                f"{MAX_BLOB_BYTES:,}: set limit.blobSize.error of the server to that"
            )
    return with_codec(client, codec)


def require_codec(client: Client, users: Collection[str]) -> bool:
    """Whether a client has a codec; raises AppError where it has none, and agents need one."""
    has_codec = client.data_converter.payload_codec is not None
    if users and not has_codec:
        raise AppError(
            "what is regulated needs a payload codec: give the app one, App(codec=...), or take "
            f"regulated=True from agent {', '.join(sorted(users))} and its tools"
        )
    return has_codec


def _convert_with(codec: PayloadCodec | None) -> DataConverter:
    if codec is None:
        return data_converter
    return replace(
        data_converter,
        payload_codec=TolerantCodec(codec),
        failure_converter_class=EncodedFailureConverter,
    )


def find_secrets(client: Client) -> frozenset[str]:
    """
    Return what a client proves itself with, wherever that came from.

    It may stand in Temporal's configuration file in place of a variable. Of headers nobody knows
    which one a gateway wants for a key: all are secret, but for the namespace, which isn't.
    """
    config = client.service_client.config
    found = {config.api_key, *config.rpc_metadata.values()} - {client.namespace}
    if isinstance(config.tls, TLSConfig):
        found.add(config.tls.client_private_key)
    if config.http_connect_proxy_config and config.http_connect_proxy_config.basic_auth:
        found.add(config.http_connect_proxy_config.basic_auth[1])
    return frozenset(
        value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        for value in found
        if value
    )


def _load_config() -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config()
    except (OSError, RuntimeError, ValueError) as error:
        said = one_line(str(error))
        raise HoldfastError(f"Temporal's variables or configuration file: {said}") from None
