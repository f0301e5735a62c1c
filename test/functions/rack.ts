/** A rack in the simulator whose functions a test invokes itself, one by one, as Lambda would. */
import type { State } from '../../rollout/state.ts';
import { installClock, settle } from '../../simulator/account/clock.ts';
import type { AuditEntry } from '../../simulator/parts.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { quietly } from '../../simulator/run/quiet.ts';
import { buildWorld, type World } from '../../simulator/run/world.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import type { FunctionName } from '../../simulator/scenario/names.ts';

const EXECUTION = 'demo-1';

/** Tokens required and hop limit 1 are asked for; one node is idle, one runs a Build for three hours. */
export const RACK = `
name: functions
rack: demo
startsAt: 2026-03-02T09:00:00Z
runFor: 8h
parameters:
  karpenter_build_imds_tokens: required
  karpenter_build_imds_hop_limit: "1"
  karpenter_enabled: "true"
  build_node_enabled: "true"
classes:
  build: { httpTokens: optional, httpPutResponseHopLimit: 3 }
nodes:
  - { name: idle, pool: build }
  - { name: busy, pool: build, builds: [{ name: build-web, runsFor: 3h, startsAt: -5m }] }
`;

export interface Rack {
  world: World;
  /** Invokes a function; rejects with an error whose name is Lambda's errorType. */
  invoke(name: FunctionName, event: unknown): Promise<unknown>;
  /** A task of the workflow on a state, as the workflow's Parameters make its event. */
  task(name: FunctionName, state: unknown, execution?: string): Promise<State>;
  /** Plays so many seconds. */
  pass(seconds: number): Promise<void>;
  /** Everything that was called since the last time that this was asked. */
  calls(): AuditEntry[];
}

/** Plays a test's body on a rack. Time is replaced for its length, and given back whatever happens. */
export function onRack(scenario: string, body: (rack: Rack) => Promise<void>): Promise<void> {
  return quietly(async () => {
    const product = await loadProduct();
    const loaded = loadScenario(scenario, 'functions.yaml');
    const clock = installClock(new Date(loaded.startsAt));
    try {
      const world = buildWorld(loaded, 1, clock, product);
      const startedAt = clock.now().toISOString();
      await settle();
      let seen = world.audit.length;
      const invoke: Rack['invoke'] = (name, event) => world.account.lambda.invoke(name, event, EXECUTION);
      await body({
        world,
        invoke,
        task: async (name, state, execution = EXECUTION) =>
          (await invoke(name, { execution, startedAt, state })) as State,
        async pass(seconds) {
          const moment = { reached: false };
          clock.after(seconds * 1000, () => {
            moment.reached = true;
          });
          while (!moment.reached) await clock.step();
        },
        calls() {
          const calls = world.audit.slice(seen);
          seen = world.audit.length;
          return calls;
        },
      });
    } finally {
      clock.uninstall();
    }
  });
}

/** What a second run must not do: everything that is written, but for the evidence, which is kept under its own moment. */
export const writesOf = (calls: readonly AuditEntry[]): string[] =>
  calls
    .filter(({ write, error, api }) => write && error === undefined && !api.startsWith('s3:'))
    .map(({ api, target = '' }) => `${api} ${target}`);
