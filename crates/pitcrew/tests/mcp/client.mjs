// One member's client, by the official TypeScript SDK: does everything that a client can do with `pitcrew mcp` and says
// on standard output which tools it called. An assertion that fails ends it with status 1.
//
//   node client.mjs stdio|http|wait SDK_FOLDER
//
// From the environment: PITCREW_BIN, PITCREW_ROOT, PITCREW_TEAM, PITCREW_AGENT and PITCREW_TOKEN as members have them,
// and PITCREW_URL over HTTP. `wait` makes one call that waits, says so, and waits to be killed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [mode, folder] = process.argv.slice(2);
const load = (path) =>
  import(pathToFileURL(createRequire(`${folder}/package.json`).resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema } = await load("types.js");

const { PITCREW_BIN: bin, PITCREW_ROOT: root, PITCREW_TOKEN: token, PITCREW_URL: url } = process.env;
const team = process.env.PITCREW_TEAM;
const names = ["HOME", "PITCREW_ROOT", "PITCREW_TEAM", "PITCREW_AGENT", "PITCREW_TOKEN"];
const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));

// What another process does, as alice.
const alice = (...line) =>
  execFileSync(bin, ["--root", root, "--team", team, "--as", "alice", ...line], {
    env: { HOME: process.env.HOME },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

// Notices as they come, and who waits for one.
const notices = [];
let wake = () => {};
const note = (notice) => {
  notices.push(notice);
  wake();
};
async function noticed(wanted) {
  const limit = setTimeout(() => assert.fail(`never told of ${wanted}, only of ${notices}`), 60_000);
  while (!notices.includes(wanted)) await new Promise((done) => (wake = done));
  clearTimeout(limit);
  notices.length = 0;
}

const client = new Client({ name: "test", version: "1" });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (update) => note(update.params.uri));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => note("tools"));
const transport =
  mode === "http"
    ? new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      })
    : new StdioClientTransport({ command: bin, args: ["mcp"], env, cwd: root, stderr: "inherit" });
await client.connect(transport);

if (mode === "wait") {
  const called = client.callTool({ name: "read_messages", arguments: { wait_seconds: 600 } });
  called.catch(() => {});
  await client.ping();
  console.log("waits");
  await called;
}

const called = new Set();
async function call(name, args = {}) {
  const answer = await client.callTool({ name, arguments: args });
  called.add(name);
  assert.equal(answer.content.length, 1);
  assert.equal(answer.structuredContent.answer, answer.content[0].text);
  return { text: answer.content[0].text, failed: answer.isError === true, facts: answer.structuredContent };
}
async function done(name, args) {
  const answer = await call(name, args);
  assert.ok(!answer.failed, answer.text);
  return answer;
}

assert.equal(client.getServerVersion().name, "pitcrew");
await client.ping();
const tools = (await client.listTools()).tools;
for (const tool of tools) assert.equal(tool.inputSchema.additionalProperties, false);
const offered = tools.map((tool) => tool.name);

// Members and mail.
assert.deepEqual((await done("list_team")).facts.members.map((row) => row.name), ["alice", "bob", "leader"]);
await done("peer_message", { to: "alice", content: "hi alice" });
await done("broadcast_message", { content: "hi all" });
const inbox = JSON.parse(alice("inbox", "--json")).messages;
assert.deepEqual(inbox.map((mail) => [mail.from, mail.body, mail.verified]), [
  ["bob", "hi alice", true],
  ["bob", "hi all", true],
]);

// Resources, and being told of them when another process changes the team.
const at = (word) => `pitcrew://${team}/${word}`;
const resources = (await client.listResources()).resources.map((row) => row.uri);
assert.deepEqual(resources, ["inbox", "tasks", "claims", "status"].map(at));
for (const uri of resources) await client.subscribeResource({ uri });
alice("send", "bob", "look here");
await noticed(at("inbox"));
const seen = await client.readResource({ uri: at("inbox") });
assert.match(seen.contents[0].text, /look here/);
assert.match((await client.readResource({ uri: at("status") })).contents[0].text, /alice/);
const mail = await done("read_messages", { limit: 5 });
assert.match(mail.text, /<message-\w+ id="[^"]+" from="alice"[^>]*>\nlook here\n/);
assert.equal((await done("ack_message", { message_ids: mail.facts.message_ids })).facts.unread, 0);
assert.equal((await done("read_messages")).facts.status, "empty");

// Findings.
await done("share_discovery", { topic: "build", content: "needs redis" });
alice("discover", "parser", "has a cache");
assert.match((await done("read_discoveries")).text, /has a cache/);

// Lines.
await client.unsubscribeResource({ uri: at("inbox") });
alice("claim", "src/a.rs", "10", "20");
await noticed(at("claims"));
const region = { file: "src/a.rs", start_line: 20, end_line: 30 };
const conflict = await done("claim_region", region);
assert.equal(conflict.facts.status, "conflict");
assert.match(conflict.text, /alice/);
assert.equal((await done("claim_region", { ...region, start_line: 21 })).facts.status, "claimed");
assert.match((await client.readResource({ uri: at("claims") })).contents[0].text, /bob \(you\) holds src\/a.rs/);
assert.equal((await done("list_claims")).facts.claims.length, 2);
await done("release_region", { file: "src/a.rs" });

// Tasks.
assert.equal((await done("list_tasks")).facts.tasks.length, 2);
const first = (await done("claim_task")).facts;
assert.match((await done("list_tasks", { task_id: first.task_id })).text, /in progress by you/);
await done("complete_task", { task_id: first.task_id, claim_token: first.claim_token, result: "42" });
const second = (await done("claim_task", { task_id: "2" })).facts;
await done("fail_task", { task_id: "2", claim_token: second.claim_token, reason: "no ink" });
await noticed(at("tasks"));
assert.match((await client.readResource({ uri: at("tasks") })).contents[0].text, /failed by bob/);
assert.match((await done("limit_status")).text, /no budget/);

// What cannot be done is said so that a model can mend it.
for (const [name, args, part] of [
  ["claim_region", { file: "a", start_line: "x", end_line: 1 }, /`start_line` must be a whole number/],
  ["peer_message", { too: "alice", content: "x" }, /did you mean `to`/],
  ["peer_message", { to: "alise", content: "x" }, /did you mean alice/],
  ["peer_mesage", {}, /did you mean peer_message/],
]) {
  const answer = await call(name, args);
  assert.ok(answer.failed, name);
  assert.match(answer.text, part);
}
await assert.rejects(client.readResource({ uri: at("nothing") }), /there are/);
await assert.rejects(client.subscribeResource({ uri: "file:///etc/passwd" }), /there are/);

// A wait ends with mail of another process; one that is given up takes none.
const waiting = done("read_messages", { wait_seconds: 600 });
await client.ping();
alice("send", "bob", "at last");
const came = await waiting;
assert.match(came.text, /at last/);
await done("ack_message", { message_ids: came.facts.message_ids });
const giveUp = new AbortController();
const given = client.callTool({ name: "read_messages", arguments: { wait_seconds: 600 } }, undefined, {
  signal: giveUp.signal,
});
await client.ping();
giveUp.abort("enough");
await assert.rejects(given, /enough/);
await client.ping();
alice("send", "bob", "after that");
assert.match((await done("read_messages")).text, /after that/);

// Another role has other tools, at once.
notices.length = 0;
const config = `${root}/.omp/state/team/${team}/config.json`;
const roster = JSON.parse(readFileSync(config, "utf8"));
roster.workers.find((member) => member.name === "bob").role = "researcher";
writeFileSync(`${config}.new`, JSON.stringify(roster, null, 2));
renameSync(`${config}.new`, config);
await noticed("tools");
const left = (await client.listTools()).tools.map((tool) => tool.name);
assert.ok(!left.includes("claim_region") && left.includes("peer_message"));
assert.equal((await call("claim_region", region)).facts.code, "role_denied");

called.delete("peer_mesage");
console.log(JSON.stringify({ offered, called: [...called] }));
await client.close();
process.exit(0);
