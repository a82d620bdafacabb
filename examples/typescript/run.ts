/** What `holdfast.client` does, in TypeScript: a plain Temporal client and JSON, nothing of ours. */

import { randomUUID } from "node:crypto";

import { Client, Connection, WorkflowNotFoundError } from "@temporalio/client";

const QUEUE = process.env.HOLDFAST_TASK_QUEUE ?? "holdfast";

interface Request {
  request_id: string;
  kind: "approval" | "review" | "question" | "escalation";
  digest: string;
  action?: string;
}

interface Live {
  turn: number;
  attempt: number;
  offset: number;
  text: string;
}

interface Payloads {
  payloads?: { data?: Uint8Array | null }[] | null;
}

/** What stands in history: a cursor, which activity or end it is about, and what it came to. */
export interface Told {
  cursor: string;
  type: string;
  name?: string;
  data?: unknown; // false where it isn't told
}

export async function start(client: Client, agent: string, input: string, id: string) {
  const args = [{ agent, input, actor: "web", stream: true }];
  return client.workflow.start("AgentRun", { args, workflowId: id, taskQueue: QUEUE });
}

/** Everything behind the cursor, then what happens, until the run is over. Asks no worker. */
export async function* follow(client: Client, id: string, cursor = ":0"): AsyncGenerator<Told> {
  let [runId, seen] = cursor.split(":");
  runId ||= await firstExecution(client, id);
  while (runId) {
    const names = new Map<string, string>();
    let next = "";
    let token: Uint8Array | undefined;
    do {
      const page = await client.workflowService.getWorkflowExecutionHistory({
        namespace: client.options.namespace,
        execution: { workflowId: id, runId },
        waitNewEvent: true, // the server answers when there is more, after 20 seconds in any case
        nextPageToken: token,
      });
      for (const event of page.history?.events ?? []) {
        const place = String(event.eventId);
        const begun = event.activityTaskScheduledEventAttributes;
        const done = event.activityTaskCompletedEventAttributes;
        const failed = event.activityTaskFailedEventAttributes;
        const ended = event.workflowExecutionCompletedEventAttributes;
        const goesOn = event.workflowExecutionContinuedAsNewEventAttributes;
        if (begun) names.set(place, begun.activityType?.name ?? "");
        next ||= goesOn?.newExecutionRunId ?? "";
        if (Number(place) <= Number(seen)) continue;
        const of = done ?? failed;
        const name = names.get(of ? String(of.scheduledEventId) : place) ?? "";
        const told = { cursor: `${runId}:${place}`, name };
        // What models and guardrails say may hold an answer that isn't out: the result has it.
        const open = !/^(call_model$|guardrail:)/.test(name);
        if (begun) yield { ...told, type: "started" };
        if (done) yield { ...told, type: "completed", data: open && decode(done.result) };
        if (failed) yield { ...told, type: "failed", data: open && failed.failure?.message };
        if (ended) yield { ...told, type: "result", data: decode(ended.result) };
      }
      token = page.nextPageToken ?? undefined;
    } while (token?.length);
    [runId, seen] = [next, "0"]; // a long run goes on in a new execution
  }
}

/** Words while they come, for runs that were started with `stream`: a look a second. */
export async function* words(client: Client, id: string): AsyncGenerator<string> {
  let [reply, told] = ["", 0];
  for (;;) {
    const { raw } = await client.workflow.getHandle(id).describe();
    if (raw.workflowExecutionInfo?.closeTime) return;
    for (const activity of raw.pendingActivities ?? []) {
      const live = (decode(activity.heartbeatDetails) as { live?: Live } | undefined)?.live;
      if (!live || live.attempt < Number(activity.attempt)) continue;
      const now = `${live.turn}.${live.attempt}`;
      if (now !== reply) [reply, told] = [now, 0]; // what an earlier attempt said is void
      const fresh = live.text.slice(Math.max(0, told - live.offset));
      told = Math.max(told, live.offset + live.text.length);
      if (fresh) yield fresh;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** Approve what waits, as it was shown: the digest goes along, so nothing else is approved. */
export async function approve(client: Client, id: string, approver: string) {
  const run = client.workflow.getHandle(id);
  for (const waiting of await run.query<Request[]>("pending")) {
    if (waiting.kind !== "approval") continue;
    console.log(`approves: ${waiting.action}`);
    const { request_id, digest } = waiting;
    const decision = { request_id, digest, decision: "approve", approver };
    console.log(JSON.stringify(await run.executeUpdate("decide", { args: [decision] })));
  }
}

export const steer = (client: Client, id: string, text: string) =>
  client.workflow.getHandle(id).signal("steer", { text, by: "dana" });

export const stop = (client: Client, id: string, reason: string) =>
  client.workflow.getHandle(id).signal("stop", { reason, by: "dana" });

/** Say something in a session, which opens if it isn't open, and wait for the answer. */
export async function say(client: Client, id: string, agent: string, text: string) {
  const message_id = randomUUID(); // by the clock, what two say in one moment would be said once
  const session = await client.workflow.signalWithStart("AgentSession", {
    args: [{ agent, actor: "web" }],
    signal: "message",
    signalArgs: [{ message_id, text }],
    workflowId: id,
    taskQueue: QUEUE,
  });
  for (;;) {
    type Outcome = { state: string; result: unknown };
    const outcome = await session.query<Outcome, [object]>("outcome", { message_id });
    if (outcome.state === "done") return outcome.result;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function firstExecution(client: Client, id: string): Promise<string> {
  const { raw } = await client.workflow.getHandle(id).describe();
  return raw.workflowExecutionInfo?.firstRunId ?? "";
}

function decode(found?: Payloads | null): unknown {
  const data = found?.payloads?.[0]?.data;
  return data?.length ? JSON.parse(Buffer.from(data).toString()) : undefined;
}

async function main(command: string, id: string, ...given: string[]) {
  const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
  const client = new Client({ connection });
  const [first = "", second = ""] = given;
  switch (command) {
    case "start":
      await start(client, first, second, id);
      break;
    case "follow":
      for await (const told of follow(client, id, first || undefined)) {
        console.log(JSON.stringify(told));
      }
      break;
    case "words":
      for await (const text of words(client, id)) process.stdout.write(text);
      break;
    case "approve":
      await approve(client, id, first);
      break;
    case "steer":
      await steer(client, id, first);
      break;
    case "stop":
      await stop(client, id, first);
      break;
    case "say":
      console.log(JSON.stringify(await say(client, id, first, second)));
      break;
    default:
      throw new Error("start, follow, words, approve, steer, stop or say");
  }
  await connection.close();
}

main(...(process.argv.slice(2) as [string, string])).catch((error: unknown) => {
  console.error(error instanceof WorkflowNotFoundError ? "there is no such run, or it is over" : error);
  process.exitCode = 1;
});
