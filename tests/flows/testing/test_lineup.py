"""The standard lineup and every variant keep the contract, and write what is said here."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.nodes.node import TurnNode
from turngraph.nodes.variants.best_of import best_of
from turngraph.nodes.variants.cascade import cascade
from turngraph.nodes.variants.critic import Critic
from turngraph.nodes.variants.dry_run import DryRunExecute
from turngraph.nodes.variants.serial import SerialExecute
from turngraph.nodes.variants.window import window
from turngraph.testing import NodeContract

WRITES: dict[type[TurnNode], set[str]] = {
    nodes.PrepareHistory: {"session.messages", "unsealed"},
    nodes.Stream: {"answer", "guidance", "iteration", "offered", "reply", "reply_row"},
    nodes.ProcessNode: {
        *("answer", "cost", "guidance", "reply", "reply_row", "session.thoughts", "task_completed"),
        *("unusable_replies", "usage"),
    },
    nodes.Dispatch: {"batches", "reply", "reply_row", "session.tool_registry"},
    nodes.Execute: {"session.tool_registry", "usage"},
    nodes.Persist: {
        *("batches", "reply", "reply_row", "retries", "session.messages", "session.tool_registry", "unsealed"),
    },
}


@pytest.mark.parametrize("node", STANDARD.lineup.values(), ids=STANDARD.lineup)
def test_each_standard_node_writes_these_fields(node: type[TurnNode]) -> None:
    class Seen(NodeContract):
        variant = node

    assert Seen.seen_to_write() == WRITES[node]


class TestStandard(NodeContract):
    variant = nodes.Execute
    writes = frozenset(WRITES[nodes.Execute])


class TestSerial(NodeContract):
    variant = SerialExecute
    writes = frozenset(WRITES[nodes.Execute] | {"batches"})


class TestDryRun(NodeContract):
    variant = DryRunExecute
    writes = frozenset(WRITES[nodes.Execute] | {"batches"})


class TestWindow(NodeContract):
    variant = window(1)
    writes = frozenset(WRITES[nodes.PrepareHistory])


class TestBestOf(NodeContract):
    variant = best_of(2)
    writes = frozenset(WRITES[nodes.Stream] | {"cost", "usage"})


async def _every_other_time(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[Any]:
    yield "" if len(messages) % 4 == 1 else "Fine."


class TestCascade(NodeContract):
    variant = cascade(FunctionModel(stream_function=_every_other_time))
    writes = frozenset(WRITES[nodes.Stream] | {"cost", "usage"})


class TestCritic(NodeContract):
    variant = Critic
    writes = frozenset(WRITES[nodes.ProcessNode])
