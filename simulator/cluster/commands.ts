/**
 * Disruption commands: taint, launch what is needed, wait until it is Initialized, delete. A command that has
 * started is not stopped by an annotation. Source: karpenter pkg/controllers/disruption/queue.go.
 */
import type { NodePool } from '../../rollout/kubernetes.ts';
import type { DisruptionReason } from './budgets.ts';
import type { Candidate } from './candidates.ts';
import { clearCondition, isTrue, setCondition } from './conditions.ts';
import { deleteClaim, nominate, type Karpenter } from './karpenter.ts';
import { disruptedTaint, sameTaint } from './names.ts';
import type { Placement } from './placement.ts';
import { Ticker } from './process.ts';
import { now } from './types.ts';

/** At fewer than 7,500 commands; it grows to an hour with more. */
const timeoutMs = 10 * 60_000;

interface Command {
  reason: DisruptionReason;
  candidates: Candidate[];
  /** Names of the replacements, and which of them were seen Initialized. */
  replacements: Map<string, boolean>;
  createdAt: number;
}

export interface Commands {
  /** Whether a running command disrupts the claim. */
  has(claim: string): boolean;
  /** False where the replacements could not be created: then the nodes keep the taint until the next pass. */
  start(reason: DisruptionReason, candidates: Candidate[], placement: Placement): boolean;
  active(): boolean;
  /** Takes the taint and the condition of nodes that no command disrupts: left over from one that failed. */
  cleanUp(): void;
}

export function createCommands(
  karpenter: Karpenter,
  createClaim: (pool: NodePool) => string | undefined,
): Commands {
  const { world, process, events, marked } = karpenter;
  const { store, clock } = world;
  let commands: Command[] = [];
  const byClaim = new Set<string>();

  const ticker = new Ticker(
    (milliseconds, action) => {
      process.after(milliseconds, action);
    },
    1_000,
    () => {
      for (const command of [...commands]) advance(command);
      return commands.length > 0;
    },
  );
  process.onStop(() => {
    commands = [];
    byClaim.clear();
    ticker.reset();
  });

  function finish(command: Command): void {
    commands = commands.filter((other) => other !== command);
    for (const { claim } of command.candidates) byClaim.delete(claim.metadata.name);
  }

  function fail(command: Command): void {
    finish(command);
    for (const { claim } of command.candidates) {
      marked.delete(claim.metadata.name);
      release(claim.metadata.name);
    }
  }

  function release(claimName: string): void {
    const claim = store.get('NodeClaim', claimName);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const node = store.nodeOf(claim);
    if (node?.spec.taints?.some((taint) => sameTaint(taint, disruptedTaint)) === true) {
      store.update('Node', node.metadata.name, (current) => ({
        ...current,
        spec: {
          ...current.spec,
          taints: (current.spec.taints ?? []).filter((one) => !sameTaint(one, disruptedTaint)),
        },
      }));
    }
    store.update('NodeClaim', claimName, (current) => clearCondition(current, 'DisruptionReason'));
  }

  function advance(command: Command): void {
    const timedOut = now(world) - command.createdAt > timeoutMs;
    for (const [name, initialized] of command.replacements) {
      if (initialized) continue;
      const claim = store.get('NodeClaim', name);
      if (claim === undefined) {
        fail(command);
        return;
      }
      events.publish({
        type: 'Normal',
        reason: 'DisruptionLaunching',
        message: `Launching NodeClaim: ${command.reason}`,
        about: claim,
      });
      if (isTrue(claim, 'Initialized')) {
        command.replacements.set(name, true);
        continue;
      }
      events.publish({
        type: 'Normal',
        reason: 'DisruptionWaitingReadiness',
        message: 'Waiting on readiness to continue disruption',
        about: claim,
      });
    }
    if (timedOut) {
      fail(command);
      return;
    }
    if ([...command.replacements.values()].includes(false)) return;
    finish(command);
    for (const { claim, node } of command.candidates) {
      const current = store.get('NodeClaim', claim.metadata.name);
      if (current === undefined) continue;
      deleteClaim(karpenter, current, command.reason === 'Empty' ? 'emptiness' : 'drift');
      events.publish({
        type: 'Normal',
        reason: 'DisruptionTerminating',
        message: `Disrupting Node: ${command.reason}`,
        about: node,
      });
      events.publish({
        type: 'Normal',
        reason: 'DisruptionTerminating',
        message: `Disrupting NodeClaim: ${command.reason}`,
        about: claim,
      });
    }
  }

  function markDisrupted(candidate: Candidate, reason: DisruptionReason): boolean {
    const node = store.update('Node', candidate.node.metadata.name, (current) =>
      current.spec.taints?.some((taint) => sameTaint(taint, disruptedTaint)) === true
        ? current
        : { ...current, spec: { ...current.spec, taints: [...(current.spec.taints ?? []), disruptedTaint] } },
    );
    const claim = store.update('NodeClaim', candidate.claim.metadata.name, (current) =>
      setCondition(
        current,
        {
          type: 'DisruptionReason',
          status: 'True',
          reason,
          message: reason,
          observedGeneration: current.metadata.generation ?? 1,
        },
        clock.now(),
      ),
    );
    return node !== undefined && claim !== undefined && claim.metadata.deletionTimestamp === undefined;
  }

  return {
    has: (claim) => byClaim.has(claim),
    active: () => commands.length > 0,
    start: (reason, chosen, placement) => {
      const taken = chosen.filter((candidate) => markDisrupted(candidate, reason));
      if (taken.length === 0) return false;
      const replacements = new Map<string, boolean>();
      for (const { pool } of placement.created) {
        const name = createClaim(pool);
        if (name === undefined) return false;
        replacements.set(name, false);
      }
      // Marked only now: marked earlier, the provisioner would launch for their pods a second time.
      for (const { claim } of taken) {
        marked.add(claim.metadata.name);
        byClaim.add(claim.metadata.name);
      }
      for (const { claim } of placement.used) nominate(karpenter, claim);
      commands.push({ reason, candidates: taken, replacements, createdAt: now(world) });
      ticker.wake();
      return true;
    },
    cleanUp: () => {
      for (const claim of [...store.all('NodeClaim')]) {
        const { name, deletionTimestamp } = claim.metadata;
        if (deletionTimestamp !== undefined || byClaim.has(name) || marked.has(name)) continue;
        const tainted =
          store.nodeOf(claim)?.spec.taints?.some((taint) => sameTaint(taint, disruptedTaint)) === true;
        if (tainted || isTrue(claim, 'DisruptionReason')) release(name);
      }
    },
  };
}
