"""One member's client, by the official Python SDK: does everything that a client can do with `pitcrew mcp` and says on
standard output which tools it called. An assertion that fails ends it with status 1.

    python client.py stdio|http|wait

From the environment: PITCREW_BIN, PITCREW_ROOT, PITCREW_TEAM, PITCREW_AGENT and PITCREW_TOKEN as members have them, and
PITCREW_URL over HTTP. `wait` makes one call that waits, says so, and waits to be killed.
"""

import asyncio
import json
import os
import re
import subprocess
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

MODE = sys.argv[1]
BIN = os.environ["PITCREW_BIN"]
ROOT = os.environ["PITCREW_ROOT"]
TEAM = os.environ["PITCREW_TEAM"]
NAMES = ["HOME", "PITCREW_ROOT", "PITCREW_TEAM", "PITCREW_AGENT", "PITCREW_TOKEN"]


def alice(*line):
    """What another process does, as alice."""
    whole = [BIN, "--root", ROOT, "--team", TEAM, "--as", "alice", *line]
    home = {"HOME": os.environ["HOME"]}
    return subprocess.run(whole, env=home, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def at(word):
    return f"pitcrew://{TEAM}/{word}"


def server():
    if MODE == "http":
        bearer = {"Authorization": f"Bearer {os.environ['PITCREW_TOKEN']}"}
        http = httpx2.AsyncClient(headers=bearer, timeout=httpx2.Timeout(30, read=700))
        return streamable_http_client(os.environ["PITCREW_URL"], http_client=http)
    env = {name: os.environ[name] for name in NAMES}
    return StdioServerParameters(command=BIN, args=["mcp"], env=env, cwd=ROOT)


class Member:
    def __init__(self, client):
        self.client, self.called = client, set()

    async def call(self, name, args=None):
        answer = await self.client.call_tool(name, args or {})
        self.called.add(name)
        [content] = answer.content
        assert answer.structured_content["answer"] == content.text
        return content.text, bool(answer.is_error), answer.structured_content

    async def done(self, name, args=None):
        text, failed, facts = await self.call(name, args)
        assert not failed, text
        return text, facts

    async def text(self, word):
        read = await self.client.read_resource(at(word), cache_mode="bypass")
        return read.contents[0].text

    async def tools(self):
        listed = await self.client.list_tools(cache_mode="bypass")
        return [tool.name for tool in listed.tools]


async def noticed(subscription, wanted):
    async with asyncio.timeout(60):
        async for event in subscription:
            if event == wanted:
                return
    raise AssertionError(f"never told of {wanted}")


async def mail_and_findings(bob, told):
    _, facts = await bob.done("list_team")
    assert [row["name"] for row in facts["members"]] == ["alice", "bob", "leader"]
    await bob.done("peer_message", {"to": "alice", "content": "hi alice"})
    await bob.done("broadcast_message", {"content": "hi all"})
    inbox = json.loads(alice("inbox", "--json"))["messages"]
    assert [(mail["from"], mail["body"], mail["verified"]) for mail in inbox] == [
        ("bob", "hi alice", True),
        ("bob", "hi all", True),
    ]
    alice("send", "bob", "look here")
    await noticed(told, ResourceUpdated(uri=at("inbox")))
    assert "look here" in await bob.text("inbox")
    assert "alice" in await bob.text("status")
    text, facts = await bob.done("read_messages", {"limit": 5})
    assert re.search(r'<message-\w+ id="[^"]+" from="alice"[^>]*>\nlook here\n', text), text
    _, facts = await bob.done("ack_message", {"message_ids": facts["message_ids"]})
    assert facts["unread"] == 0
    await bob.done("share_discovery", {"topic": "build", "content": "needs redis"})
    alice("discover", "parser", "has a cache")
    text, _ = await bob.done("read_discoveries")
    assert "has a cache" in text


async def lines_and_tasks(bob, told):
    alice("claim", "src/a.rs", "10", "20")
    await noticed(told, ResourceUpdated(uri=at("claims")))
    region = {"file": "src/a.rs", "start_line": 20, "end_line": 30}
    text, facts = await bob.done("claim_region", region)
    assert facts["status"] == "conflict" and "alice" in text
    _, facts = await bob.done("claim_region", {**region, "start_line": 21})
    assert facts["status"] == "claimed"
    assert "bob (you) holds src/a.rs" in await bob.text("claims")
    _, facts = await bob.done("list_claims")
    assert len(facts["claims"]) == 2
    await bob.done("release_region", {"file": "src/a.rs"})
    _, facts = await bob.done("list_tasks")
    assert len(facts["tasks"]) == 2
    _, first = await bob.done("claim_task")
    ended = {"task_id": first["task_id"], "claim_token": first["claim_token"]}
    await bob.done("complete_task", {**ended, "result": "42"})
    _, second = await bob.done("claim_task", {"task_id": "2"})
    await bob.done("fail_task", {"task_id": "2", "claim_token": second["claim_token"], "reason": "no ink"})
    await noticed(told, ResourceUpdated(uri=at("tasks")))
    assert "failed by bob" in await bob.text("tasks")
    text, _ = await bob.done("limit_status")
    assert "no budget" in text


async def errors(bob):
    for name, args, part in [
        ("claim_region", {"file": "a", "start_line": "x", "end_line": 1}, "`start_line` must be a whole number"),
        ("peer_message", {"too": "alice", "content": "x"}, "did you mean `to`"),
        ("peer_message", {"to": "alise", "content": "x"}, "did you mean alice"),
        ("peer_mesage", {}, "did you mean peer_message"),
    ]:
        text, failed, _ = await bob.call(name, args)
        assert failed and part in text, text
    try:
        await bob.text("nothing")
        raise AssertionError("there is no such resource")
    except MCPError as refused:
        assert "there are" in str(refused), refused


async def waiting(bob):
    wait = asyncio.create_task(bob.done("read_messages", {"wait_seconds": 600}))
    await bob.tools()
    alice("send", "bob", "at last")
    text, facts = await wait
    assert "at last" in text
    await bob.done("ack_message", {"message_ids": facts["message_ids"]})
    given = asyncio.create_task(bob.done("read_messages", {"wait_seconds": 600}))
    await asyncio.sleep(0)
    await bob.tools()
    given.cancel()
    try:
        await given
    except asyncio.CancelledError:
        pass
    # Over HTTP giving up is closing a connection, which the server sees when it sees it; what it answers after that it
    # has seen.
    for _ in range(3):
        await bob.tools()
    alice("send", "bob", "after that")
    text, _ = await bob.done("read_messages")
    assert "after that" in text, text


async def another_role(bob, told):
    config = f"{ROOT}/.omp/state/team/{TEAM}/config.json"
    with open(config, encoding="utf8") as file:
        roster = json.load(file)
    for member in roster["workers"]:
        if member["name"] == "bob":
            member["role"] = "researcher"
    with open(f"{config}.new", "w", encoding="utf8") as file:
        json.dump(roster, file, indent=2)
    os.rename(f"{config}.new", config)
    await noticed(told, ToolsListChanged())
    left = await bob.tools()
    assert "claim_region" not in left and "peer_message" in left
    _, failed, facts = await bob.call("claim_region", {"file": "a", "start_line": 1, "end_line": 2})
    assert failed and facts["code"] == "role_denied"


async def main():
    async with Client(server()) as client:
        bob = Member(client)
        if MODE == "wait":
            call = asyncio.create_task(bob.done("read_messages", {"wait_seconds": 600}))
            await bob.tools()
            print("waits", flush=True)
            await call
        assert client.server_info.name == "pitcrew"
        offered = await bob.tools()
        resources = [row.uri for row in (await client.list_resources()).resources]
        assert resources == [at(word) for word in ["inbox", "tasks", "claims", "status"]], resources
        async with client.listen(tools_list_changed=True, resource_subscriptions=resources) as told:
            await mail_and_findings(bob, told)
            await lines_and_tasks(bob, told)
            await errors(bob)
            await waiting(bob)
            await another_role(bob, told)
        bob.called.discard("peer_mesage")
        print(json.dumps({"offered": offered, "called": sorted(bob.called)}))


asyncio.run(main())
