/** Put canary back: every marked instance gets exactly the options of before, and its mark goes once they are in force. */
import { isCarriedOn, markOn, markPatch, putBackOptions, type CanaryRead } from './canary-mark.ts';
import type { Instance } from './ec2.ts';
import { instanceIdOf } from './fleet.ts';
import { readGround, registrationOf, type Ground, type GroundRead } from './ground.ts';
import { writes, type Guard } from './guard.ts';
import type { EC2NodeClass, Node } from './kubernetes.ts';
import { dueOf, type Due } from './modifications.ts';
import { modifyAll, refusalsOf } from './modify.ts';
import { mismatches } from './options.ts';
import type { Cluster, Registration } from './ports.ts';
import type { RolloutRecord } from './record.ts';
import { runStep, type Running } from './run.ts';
import { conclude, few, type Next, type PuttingBack, type Rolling } from './state.ts';
import type { StragglerPorts } from './stragglers.ts';
import { assertFree } from './tidy.ts';
import { LONGEST_FUNCTION_MS, TurnLost } from './turn.ts';

/** Between two looks at what is being put back. */
const LOOK_SECONDS = 10;

/** What EC2 shows may be some seconds old: only so long after the beginning is what looks untouched taken for it. */
const STALE_MS = 10_000;

/** How long an execution tries. Reconcile starts another one as long as there are marks. */
const LIMIT_MS = 30 * 60_000;

interface Marked {
  node: Node;
  mark: CanaryRead;
}

/** Nodes that carry a mark of the rack; one that cannot be read is whoever's pool the node is of. */
export async function markedNodes(cluster: Cluster, { rack, nodePool }: Registration): Promise<Marked[]> {
  return (await cluster.list('Node')).flatMap((node) => {
    const mark = markOn(node);
    if (mark === undefined) return [];
    const isOurs =
      mark === 'unreadable'
        ? node.metadata.labels?.['karpenter.sh/nodepool'] === nodePool
        : mark.rack === rack;
    return isOurs ? [{ node, mark }] : [];
  });
}

interface Round {
  /** Nodes whose instance is not known to be as before yet. */
  left: string[];
  /** What can never be put back, in words. */
  never: string[];
}

interface Place {
  cluster: Cluster;
  registration: Registration;
  /** Absent where it is gone. */
  nodeClass?: EC2NodeClass;
  /** From when on an instance that looks untouched is so: nobody may still be modifying it. */
  settledAt: number;
}

async function round(
  ports: StragglerPorts,
  place: Place,
  guard: Pick<Guard, 'check' | 'tryPatch'>,
  of: PuttingBack | Rolling,
): Promise<Round> {
  const marked = await markedNodes(place.cluster, place.registration);
  const instances = await instancesOf(ports, place, marked);
  const judged = marked.map((each) => ({
    ...each,
    ...standingOf(each, instances, place, ports.clock.now()),
  }));
  const due = judged.flatMap(({ due }) => due ?? []);
  const { done } = await modifyAll(ports, () => guard.check(), due, { of, step: 'put-back-modify' });
  const refused = refusalsOf(done);
  const left: string[] = [];
  for (const { node, state } of judged) {
    const { name } = node.metadata;
    // What EC2 refuses to write would be refused for ever.
    const isOver = state === 'over' || refused.some((text) => text.includes(`(${name})`));
    const off = isOver ? markPatch(node, null) : undefined;
    if (off === undefined || !(await guard.tryPatch('Node', name, off))) left.push(name);
  }
  return { left, never: [...judged.flatMap(({ never }) => never ?? []), ...refused] };
}

async function instancesOf(
  ports: StragglerPorts,
  { registration, nodeClass }: Place,
  marked: readonly Marked[],
): Promise<Map<string, Instance>> {
  const instanceIds = marked.flatMap(({ mark }) => (mark === 'unreadable' ? [] : [mark.instanceId]));
  const found = await ports.instances.find({
    cluster: registration.cluster,
    nodeClass: nodeClass?.metadata.name ?? registration.nodePool,
    instanceIds,
  });
  return new Map(found.map((instance) => [instance.instanceId, instance]));
}

interface Judged {
  state: 'over' | 'left';
  never?: string;
  due?: Due[];
}

function standingOf(
  { node, mark }: Marked,
  instances: ReadonlyMap<string, Instance>,
  { nodeClass, settledAt }: Place,
  now: Date,
): Judged {
  const { name } = node.metadata;
  if (mark === 'unreadable')
    return { state: 'over', never: `the mark of ${name} cannot be read: what was before is not known` };
  const instance = instances.get(mark.instanceId);
  const isGone = instance === undefined || instance.state === 'shutting-down';
  const isOther = instanceIdOf(node.spec.providerID) !== mark.instanceId;
  if (isGone || isOther || (nodeClass !== undefined && isCarriedOn(mark, nodeClass)))
    return { state: 'over' };
  const options = instance.metadataOptions;
  if (options === undefined) return { state: 'left' };
  if (options.httpEndpoint === 'disabled')
    return { state: 'over', never: `${name}: its endpoint was switched off, and is never switched on` };
  const before = putBackOptions(mark);
  if (mismatches(before, options).length > 0) {
    const why = 'canary put back: as it was before it was tried';
    return { state: 'left', due: dueOf({ name, builds: [], instance }, before, now.toISOString(), why) };
  }
  return { state: options.state === 'applied' && now.getTime() >= settledAt ? 'over' : 'left' };
}

/** A Lambda that may still be modifying does so for its time-out at most after its turn was taken. */
const settledAt = (since: string, { takenOverAt }: RolloutRecord): number =>
  Math.max(
    Date.parse(since) + STALE_MS,
    takenOverAt === undefined ? 0 : Date.parse(takenOverAt) + LONGEST_FUNCTION_MS,
  );

const isOver = (since: string, now: Date): boolean => now.getTime() - Date.parse(since) >= LIMIT_MS;

/** The canary of a rollout that goes on without one: its class is as asked already. */
export const putCanaryBackStep = (ports: StragglerPorts, state: Rolling): Promise<Next> =>
  runStep(ports, state, (running) => putBack(ports, running));

async function putBack(ports: StragglerPorts, { state, ground, record, guard }: Running): Promise<Next> {
  const since = state.canary?.putBackSince ?? ports.clock.now().toISOString();
  const place = { ...ground, settledAt: settledAt(since, record) };
  const { left, never } = await round(ports, place, guard, state);
  const canary = { ...state.canary, putBackSince: since };
  if (left.length === 0) {
    const { putBackSince: _, ...rest } = canary;
    return { ...state, next: 'hold-and-patch', lookAgainIn: 0, canary: rest };
  }
  if (isOver(since, ports.clock.now()))
    return { ...conclude(state, 'Failed', notPutBack(left, never)), canaryLeft: true };
  const waitsFor = `the canary to have its options of before again: ${few(left)}`;
  return { ...state, canary, next: 'put-canary-back', lookAgainIn: LOOK_SECONDS, waitsFor };
}

/** The canary of a rollout that ends, also where its pool or class is gone. Another rollout's turn is another's canary. */
export async function putBackAndEndStep(
  ports: StragglerPorts,
  state: PuttingBack,
): Promise<PuttingBack | Next> {
  const { lookAgainIn: _look, putBackSince: since, waitsFor: _waits, next: _next, ...rest } = state;
  const ending = { ...rest, next: 'conclude' as const };
  const { registration, others } = await registrationOf(ports, state.rack);
  if (registration === undefined) return { ...ending, canaryLeft: true };
  const read = await readGround(ports, registration, others);
  const place = placeOf(read, registration, settledAt(since, await ports.records.read(state.rack)));
  const check = async (): Promise<void> => {
    if (read.kind === 'found') await assertFree(read.ground, state.execution);
  };
  try {
    await check();
    const guard = { check, tryPatch: writes(place, check).tryPatch };
    const { left, never } = await round(ports, place, guard, state);
    const lost = [...(state.neverPutBack ?? []), ...never];
    if (left.length > 0 && isOver(since, ports.clock.now()))
      return {
        ...ending,
        outcome: 'Failed',
        reason: `${state.reason}; ${notPutBack(left, lost)}`,
        canaryLeft: true,
      };
    if (left.length > 0)
      return {
        ...state,
        ...(lost.length > 0 && { neverPutBack: lost.slice(0, 5) }),
        lookAgainIn: LOOK_SECONDS,
        waitsFor: `the canary to have its options of before again: ${few(left)}`,
      };
    const { neverPutBack: _never, ...over } = ending;
    return lost.length > 0
      ? { ...over, outcome: 'Failed', reason: `${state.reason}; not put back: ${few(lost, 3)}` }
      : { ...over, reason: `${state.reason}; the canary has its options of before again` };
  } catch (error) {
    // A newer rollout has taken the Lease, and the canary with it.
    if (error instanceof TurnLost) return { ...ending, canaryLeft: true };
    throw error;
  }
}

function placeOf(read: GroundRead, registration: Registration, at: number): Place {
  if (read.kind === 'gone') return { cluster: read.cluster, registration, settledAt: at };
  const { cluster, nodeClass }: Ground = read.ground;
  return { cluster, nodeClass, registration, settledAt: at };
}

const notPutBack = (left: readonly string[], never: readonly string[]): string =>
  [`30 minutes after it began the canary is not known to be as before: ${few(left)}`, ...never].join('; ');
