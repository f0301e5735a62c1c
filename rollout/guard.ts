/** The only way in which a running rollout writes: whose turn it is, and what is asked, are looked at first. */
import { askedNow, type Asking } from './ask.ts';
import { ConflictError, NotFoundError, TransientError } from './errors.ts';
import type { Ground } from './ground.ts';
import type { MergePatch, ObjectsByKind, WrittenKind } from './kubernetes.ts';
import type { Clock, Parameters, Records } from './ports.ts';
import { AskWithdrawn, assertTurn, TurnLost } from './turn.ts';

/** How old what the parameters said may be at a write, in milliseconds. */
const ASK_AGE_MS = 5000;

export interface Guard {
  /** Throws TurnLost where the rollout may not write any more. */
  check(): Promise<void>;
  patch<K extends WrittenKind>(kind: K, name: string, patch: MergePatch): Promise<ObjectsByKind[K]>;
  /**
   * The same for one of many nodes: false where it changed or vanished meanwhile or the API server did not answer,
   * which the next look finds again.
   */
  tryPatch(kind: 'Node' | 'NodeClaim', name: string, patch: MergePatch): Promise<boolean>;
}

export interface GuardPorts {
  clock: Clock;
  parameters: Parameters;
  records: Records;
}

/**
 * Guards the writes of one step of a rollout. Before each the Lease is read, and the parameters when 5 s have passed
 * since `askedAt`, when the step itself read them, or since they were read last.
 */
export function createGuard(
  ports: GuardPorts,
  ground: Ground,
  rollout: Asking & { rack: string; execution: string },
  askedAt: number,
): Guard {
  let readAt = askedAt;
  const checkAsk = async (): Promise<void> => {
    const now = ports.clock.now().getTime();
    if (now - readAt < ASK_AGE_MS) return;
    const [parameters, record] = await Promise.all([
      ports.parameters.list(rollout.rack),
      ports.records.read(rollout.rack),
    ]);
    const asked = askedNow(rollout, parameters, record, ground.nodeClass);
    if (asked.kind === 'withdrawn') throw new AskWithdrawn(asked.why);
    if (asked.kind === 'other') throw new TurnLost(asked.why);
    readAt = now;
  };
  const check = async (): Promise<void> => {
    await checkAsk();
    await assertTurn(ground.cluster, ground.nodeClass.metadata.name, rollout.execution);
  };
  return { check, ...writes(ground, check) };
}

/** Writes without a rollout of one's own: reconcile and clean-up, which check by other means before. */
export function writes(
  { cluster }: Pick<Ground, 'cluster'>,
  check: () => Promise<void>,
): Pick<Guard, 'patch' | 'tryPatch'> {
  return {
    patch: async (kind, name, patch) => {
      await check();
      return cluster.patch(kind, name, patch);
    },
    tryPatch: async (kind, name, patch) => {
      await check();
      try {
        await cluster.patch(kind, name, patch);
        return true;
      } catch (error) {
        if (
          error instanceof ConflictError ||
          error instanceof NotFoundError ||
          error instanceof TransientError
        )
          return false;
        throw error;
      }
    },
  };
}
