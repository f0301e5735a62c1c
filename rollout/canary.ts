/** Canaries: which nodes are tried before the class is touched, and what their bake came to. Pure. */
import { canaryInWords } from './desired.ts';
import type { BuildNode, Fleet } from './fleet.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import { classOptions, judge, mismatches } from './options.ts';
import type { CanarySize } from './parameters.ts';
import type { Options, RolloutRecord } from './record.ts';
import { refuse } from './refusals.ts';
import { few, type Rolling } from './state.ts';

type Due = Pick<Rolling, 'policy' | 'generation' | 'target' | 'canary' | 'takingBack'>;

/** Whether a rollout is to try a canary, or go on with it, before it patches the class. */
export function isCanaryDue(
  { policy, canary, generation, takingBack, target }: Due,
  record: Pick<RolloutRecord, 'generation' | 'patchedAt'>,
  nodeClass: EC2NodeClass,
): boolean {
  const isPatched = record.generation === generation && record.patchedAt !== undefined;
  return (
    policy.canary !== undefined &&
    policy.classWriter === 'service' &&
    !isPatched &&
    takingBack === undefined &&
    canary?.over === undefined &&
    // Where the class stays as it is, its new nodes prove every minute what a canary would.
    mismatches(target, classOptions(nodeClass)).length > 0
  );
}

/** A node that can be tried: registered, running, not leaving, its endpoint on, wrong by its values. */
const mayBeCanary = (node: BuildNode, target: Options): boolean =>
  node.node !== undefined &&
  !node.leaving &&
  node.instance?.state === 'running' &&
  node.instance.metadataOptions?.state === 'applied' &&
  judge(target, node.instance) === 'wrong';

export type Choice =
  | { kind: 'chosen'; nodes: BuildNode[] }
  /** Nothing to try it on, and why that is well. */
  | { kind: 'none'; why: string }
  | { kind: 'refused'; why: string };

/**
 * The canary of a fleet. Evidence comes from Builds, so nodes that run some come first, then the oldest, then by name:
 * the same fleet gives the same choice. A percentage is of the nodes that can be tried, and rounds up.
 */
export function chooseCanary(
  size: CanarySize,
  { nodes, pool }: Pick<Fleet, 'nodes' | 'pool'>,
  target: Options,
): Choice {
  const eligible = nodes.filter((node) => mayBeCanary(node, target)).sort(byEvidence);
  const present = nodes.filter(({ leaving }) => !leaving);
  const allRight = present.length > 0 && present.every(({ instance }) => judge(target, instance) === 'right');
  if (allRight) return { kind: 'none', why: 'every build instance has the options already' };
  if (size.unit === 'percent' && eligible.length === 0)
    return { kind: 'none', why: 'no build node is there that could be tried' };
  const wanted = size.unit === 'percent' ? Math.ceil((eligible.length * size.number) / 100) : size.number;
  if (wanted <= eligible.length) return { kind: 'chosen', nodes: eligible.slice(0, wanted) };
  return {
    kind: 'refused',
    why: refuse('canaryTooLarge', {
      canary: canaryInWords(size),
      pool: pool.metadata.name,
      eligible: eligible.length === 0 ? 'no build node' : `only ${String(eligible.length)}`,
    }),
  };
}

const byEvidence = (a: BuildNode, b: BuildNode): number =>
  Number(b.builds.length > 0) - Number(a.builds.length > 0) ||
  launchOf(a).localeCompare(launchOf(b)) ||
  a.name.localeCompare(b.name);

const launchOf = ({ instance }: BuildNode): string => instance?.launchTime ?? '';

/** A Build that failed on a canary since it was modified. */
export interface FailedBuild {
  build: string;
  node: string;
  at: string;
}

/** What one look of the bake saw. */
export interface BakeLook {
  now: Date;
  /** Seconds. */
  bake: number;
  /** From when on what it shows counts: just before it was modified. */
  markedAt: string;
  /** When its options were first found in force on every one of them; absent before. */
  bakingSince?: string;
  /** The canary's nodes that are still there. */
  nodes: readonly string[];
  /** Those of them whose options are not in force: not modified, or still pending. */
  notInForce: readonly string[];
  /** By node, how many rejected calls were counted. */
  rejected: ReadonlyMap<string, number>;
  failed: readonly FailedBuild[];
  /** By node whose tokens became required: when the periods of 5 minutes began that CloudWatch has measured. */
  measured: ReadonlyMap<string, readonly Date[]>;
  /** What could not be read, in words. */
  unknown: readonly string[];
}

export type Health =
  | { kind: 'unhealthy'; why: string }
  | { kind: 'healthy'; why: string }
  | { kind: 'baking'; waitsFor: string }
  | { kind: 'vanished' }
  | { kind: 'unproven'; why: string };

/** A period of basic monitoring. */
const PERIOD_MS = 5 * 60_000;

/** How long beyond its bake a canary is looked at while something of it is unknown or not in force. */
const UNPROVEN_LIMIT_MS = 30 * 60_000;

/**
 * What the bake has come to. One rejected call or one failed Build is enough against it, at once; for it counts only a
 * look after the bake that could read everything.
 */
export function healthOf(look: BakeLook): Health {
  const { now, bake, markedAt, bakingSince, nodes, notInForce, rejected, failed, unknown } = look;
  if (nodes.length === 0) return { kind: 'vanished' };
  const seen = [...rejections(rejected), ...failures(failed)];
  if (seen.length > 0) return { kind: 'unhealthy', why: seen.join('; ') };
  const bakedAt = bakingSince === undefined ? undefined : new Date(bakingSince).getTime() + bake * 1000;
  const limit = (bakedAt ?? new Date(markedAt).getTime()) + UNPROVEN_LIMIT_MS;
  const isBaked = bakedAt !== undefined && now.getTime() >= bakedAt;
  const missing = [
    ...(notInForce.length > 0 ? [`the options of ${few(notInForce)} are not in force`] : []),
    ...unknown,
    // Before its time is over there is nothing that a whole period would be missed for.
    ...(isBaked ? notMeasured(look) : []),
  ];
  if (isBaked && missing.length === 0)
    return { kind: 'healthy', why: `${named(nodes)} baked for ${minutes(bake)}: ${figures(look)}` };
  if (missing.length > 0 && now.getTime() >= limit) return { kind: 'unproven', why: missing.join('; ') };
  const until = bakedAt === undefined ? 'begins to bake' : `bakes until ${new Date(bakedAt).toISOString()}`;
  const also = missing.length === 0 ? '' : `; ${missing.join('; ')}`;
  return { kind: 'baking', waitsFor: `${named(nodes)} ${until}: ${figures(look)}${also}` };
}

/** No datapoint is not a measured zero: one whole period since its options are in force has to be measured. */
function notMeasured({ now, bakingSince, measured }: BakeLook): string[] {
  const since = bakingSince === undefined ? Infinity : Date.parse(bakingSince);
  const isWhole = (from: Date): boolean =>
    from.getTime() >= since && from.getTime() + PERIOD_MS <= now.getTime();
  const missing = [...measured].filter(([, periods]) => !periods.some(isWhole)).map(([node]) => node);
  return missing.length === 0
    ? []
    : [
        `whether calls were rejected is not known of ${few(missing)}: CloudWatch has neither MetadataNoTokenRejected nor CPUUtilization of a whole period of 5 minutes since`,
      ];
}

export const named = (nodes: readonly string[]): string => `canary ${few([...nodes].sort())}`;

const minutes = (seconds: number): string =>
  seconds % 60 === 0 ? `${String(seconds / 60)} min` : `${String(seconds)} s`;

const figures = ({ rejected, failed, unknown }: BakeLook): string =>
  unknown.length > 0
    ? `${String(sum(rejected))} rejections and ${String(failed.length)} failed Builds known of`
    : `${String(sum(rejected))} rejections, ${String(failed.length)} failed Builds`;

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((all, each) => all + each, 0);

const rejections = (rejected: ReadonlyMap<string, number>): string[] =>
  [...rejected]
    .filter(([, count]) => count > 0)
    .map(
      ([node, count]) => `${node}: MetadataNoTokenRejected counted ${String(count)} since it was modified`,
    );

const failures = (failed: readonly FailedBuild[]): string[] => {
  const first = failed.slice(0, 3).map(({ build, node, at }) => `${node}: Build ${build} failed at ${at}`);
  return failed.length > 3 ? [...first, `${String(failed.length - 3)} more failed`] : first;
};
