/** The trace of a run: which states its executions entered and what was written, without names and times. */
import type { AuditEntry } from '../simulator/parts.ts';
import { runScenario, type RunOptions } from '../simulator/run/run.ts';
import type { RunResult } from '../simulator/run/result.ts';
import type { World } from '../simulator/run/world.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';

export interface Played {
  result: RunResult;
  /** As the run left it. */
  world: World;
  trace: string[];
}

/** Plays a scenario and keeps the world for what the result does not say. */
export async function playTraced(scenario: Scenario, options: RunOptions = {}): Promise<Played> {
  const left: World[] = [];
  const result = await runScenario(scenario, {
    ...options,
    onStep: (world) => {
      left[0] = world;
      options.onStep?.(world);
    },
  });
  const [world] = left;
  if (world === undefined) throw new Error(`${scenario.name} ended before anything happened`);
  return { result, world, trace: traceOf(world) };
}

/** A step that did again what it did just before is one: traces are equal where only counts differ. */
function traceOf({ audit, executions }: World): string[] {
  const order = new Map(executions.map(({ name }, index) => [name, index]));
  const parts: string[] = [];
  const push = (part: string): void => {
    if (parts.at(-1) !== part) parts.push(part);
  };
  for (const entry of audit) {
    const { execution, function: name } = entry.caller;
    if (execution !== undefined) push(`${String(order.get(execution))} ${name}`);
    if (entry.write && entry.api !== 's3:PutObject') push(`  ${name}: ${written(entry)}`);
  }
  for (const { status, error } of executions) push([status, error].filter(Boolean).join(' '));
  return parts;
}

/** What a write changes: its keys, and the values where these are neither names nor times. */
function written({ api, body, error }: AuditEntry): string {
  const what = /EC2NodeClass|Node|ssm|ec2/.test(api) ? ` ${JSON.stringify(withoutNames(body))}` : '';
  return `${api}${api === 'ssm:PutParameter' ? '' : what}${error === undefined ? '' : ` ${error}`}`;
}

const plain = new Set(['optional', 'required', 'enabled', 'disabled', 'true']);

function withoutNames(value: unknown): unknown {
  if (typeof value === 'string') return plain.has(value) ? value : '…';
  if (Array.isArray(value)) return value.length;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'resourceVersion' && key !== 'managedFields')
      .map(([key, inner]) => [key, withoutNames(inner)]),
  );
}
