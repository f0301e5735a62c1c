/** What changed in a rack, second by second, for the message of a test that fails and for people after a run. */
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import type { Fate } from './kubelet.ts';
import type { Machine } from './machines.ts';

export interface Watched {
  machines(): Promise<Machine[]>;
  executions(): ExecutionRecord[];
  /** By the pod's name. */
  fates(): Iterable<readonly [string, Fate]>;
}

export interface History {
  lines: readonly string[];
  stop(): void;
}

export function watch(rack: Watched): History {
  const lines: string[] = [];
  const seen = new Map<string, string>();
  const startedAt = Date.now();
  const note = (text: string): void => {
    lines.push(`${((Date.now() - startedAt) / 1000).toFixed(1)} s ${text}`);
  };
  const look = async (): Promise<void> => {
    const states = new Map(
      (await rack.machines()).map(({ claim, ...rest }) => [claim, JSON.stringify(rest)] as const),
    );
    for (const { payload, state = '', name, cause } of rack.executions()) {
      const said = [state, payload['waitsFor'], payload['outcome'], cause].filter(Boolean);
      states.set(name, said.map(String).join(': '));
    }
    for (const [pod, fate] of rack.fates()) states.set(pod, JSON.stringify(fate));
    for (const [what, is] of states) if (seen.get(what) !== is) note(`${what} ${is}`);
    for (const what of seen.keys()) if (!states.has(what)) note(`${what} is gone`);
    seen.clear();
    for (const [what, is] of states) seen.set(what, is);
  };
  const timer = setInterval(() => {
    // The API server may be away.
    look().catch(() => undefined);
  }, 1000);
  return {
    lines,
    stop() {
      clearInterval(timer);
    },
  };
}
