/**
 * What has been so far, as far as judging a call needs it: accepted asks, the class's values before each write of
 * ours, instances' options before they were changed, build nodes that are gone already.
 */
import type { Instance } from '../../rollout/ec2.ts';
import type { EC2NodeClass, Node, NodeClaim } from '../../rollout/kubernetes.ts';
import type { Options } from '../../rollout/record.ts';
import type { AuditEntry } from '../parts.ts';
import { createApprovals } from './approvals.ts';
import { imdsKeys, isLooser, optionNames, readAsk, type Reading } from './ask.ts';
import { fields, foundRight, isOurs, optionsOf, patchedOptions } from './facts.ts';
import type { Truth } from './truth.ts';

/** A Lambda that had begun before a change may act on what it read for so long. */
export const inFlight = 120_000;

/** What was accepted from a moment on: asked values, and the baseline for options that are to go back to it. */
interface Accepted {
  at: number;
  target: Options;
}

export interface History {
  /** Reads the world; before and after everything that judges. */
  look(entries: readonly AuditEntry[]): void;
  reading(): Reading;
  /** When the parameters were last written. */
  askedAt(): number;
  everAsked(): boolean;
  /** Targets that were in force at some moment of the last two minutes (or of so long), newest last. */
  acceptable(within?: number): Accepted[];
  newest(): Accepted | undefined;
  /** Per option that is, or is to be, given back: what the class said before it was first asked for. */
  baseline(): Options;
  /** Options that were given back, with the values that they went back to. */
  givenBack(): Options;
  /** The values that an option of the class had before writes of ours: where a taking back may return to. */
  priorValues(option: keyof Options): ReadonlySet<unknown>;
  /** What an instance's options were before the calls that are judged now. */
  instanceBefore(id: string): Instance['metadataOptions'];
  isBuildNode(name: string): boolean;
  isBuildClaim(name: string): boolean;
  isBuildInstance(id: string): boolean;
  buildClass(): string;
  /** When we first wrote the class's options; undefined before. */
  patchedAt(): number | undefined;
  /** When somebody else last wrote the class. */
  foreignWriteAt(): number | undefined;
  /** Since when the class has been somebody else's alone to write; undefined while we may. */
  externalSince(): number | undefined;
}

export function createHistory(truth: Truth): History {
  const { scenario } = truth;
  const instances = new Map<string, Instance['metadataOptions']>();
  const buildInstances = new Set<string>();
  const nodes = new Set<string>();
  const claims = new Set<string>();
  const prior = { httpTokens: new Set<unknown>(), httpPutResponseHopLimit: new Set<unknown>() };
  const accepted: Accepted[] = [];
  const approvals = createApprovals();
  let reading: Reading = { kind: 'inert' };
  let written = '';
  let askedAt = truth.now().getTime();
  let everAsked = false;
  let baseline: Options = {};
  let givenBack: Options = {};
  const owned = new Set<string>();
  let lookedAt = 0;
  let classUid: string | undefined;
  let classBefore: Required<Options> | undefined;
  let patchedAt: number | undefined;
  let foreignWriteAt: number | undefined;
  let externalSince: number | undefined;

  const buildClass = (): string =>
    truth.objects('NodePool').find((pool) => pool.metadata.name === 'build')?.spec.template.spec.nodeClassRef
      .name ??
    scenario.pools['build']?.class ??
    'build';
  const classNow = (): EC2NodeClass | undefined =>
    truth.objects('EC2NodeClass').find((found) => found.metadata.name === buildClass());
  const isBuild = (labels: Record<string, string> | undefined): boolean =>
    labels?.['karpenter.sh/nodepool'] === 'build' ||
    labels?.['karpenter.k8s.aws/ec2nodeclass'] === buildClass();

  /** Our own writes of the class: what stood before them is the baseline, and where a taking back returns to. */
  const noteClassWrites = (entries: readonly AuditEntry[]): void => {
    for (const entry of entries) {
      if (
        !/^kubernetes:.* (EC2NodeClass|NodePool)$/.test(entry.api) ||
        !entry.write ||
        entry.error !== undefined
      )
        continue;
      if (!isOurs(entry)) foreignWriteAt = entry.at.getTime();
      const options = isOurs(entry) ? patchedOptions(entry) : undefined;
      if (options === undefined || Object.keys(options).length === 0 || classBefore === undefined) continue;
      if (patchedAt === undefined) baseline = { ...baseline, ...pick(classBefore, Object.keys(baseline)) };
      patchedAt ??= entry.at.getTime();
      for (const option of Object.keys(options)) owned.add(option);
      for (const option of optionNames) prior[option].add(classBefore[option]);
    }
  };

  /** What a rollout once wrote, or wrote down as owned, stays owned until it is given back, whatever is asked. */
  const noteOwned = (entries: readonly AuditEntry[]): void => {
    for (const entry of entries) {
      if (!isOurs(entry) || entry.api !== 'ssm:PutParameter' || entry.error !== undefined) continue;
      const options = fields(fields(entry.body)?.['baseline']) ?? {};
      for (const option of optionNames) if (options[option] !== undefined) owned.add(option);
    }
  };

  /** What was asked for and cleared again before any rollout took it up was never owned. */
  const forgetUnowned = (): void => {
    if (reading.kind !== 'asks') return;
    const { ask } = reading;
    baseline = Object.fromEntries(
      Object.entries(baseline).filter(
        ([key]) =>
          owned.has(key) || optionNames.some((option) => option === key && ask[option] !== undefined),
      ),
    );
  };

  const accept = (): void => {
    if (reading.kind !== 'asks') return;
    const nodeClass = classNow();
    if (nodeClass === undefined) return;
    const now = optionsOf(nodeClass);
    const target: Options = reading.external ? reading.ask : { ...baseline, ...reading.ask };
    const patched = reading.external ? {} : patchedTo(truth, nodeClass.metadata.uid);
    const loosens = optionNames.some(
      (option) =>
        isLooser(option, target[option], now[option]) || isLooser(option, target[option], patched[option]),
    );
    const needsSomebody = reading.approval === 'always' || (loosens && reading.approval === 'loosening');
    if (needsSomebody && !approvals.cover(target)) return;
    // Until a rollout takes an option up, what the class says is what was before. What somebody else writes is theirs.
    const free = reading.external ? [] : Object.keys(reading.ask).filter((key) => !owned.has(key));
    baseline = { ...baseline, ...pick(now, free) };
    const last = accepted.at(-1);
    if (last && JSON.stringify(last.target) === JSON.stringify(target)) return;
    accepted.push({ at: truth.now().getTime(), target });
    approvals.onlyFor(target);
  };

  /** An option that nobody asks for, is as it was, and was concluded on, is not ours any more. */
  const giveBack = (): void => {
    if (reading.kind !== 'asks') return;
    const concluded = truth
      .executions()
      .some((execution) => foundRight(execution) && Date.parse(execution.startedAt) > askedAt);
    const now = classNow();
    if (!concluded || now === undefined) return;
    const { ask } = reading;
    const done = optionNames.filter(
      (option) =>
        ask[option] === undefined &&
        baseline[option] !== undefined &&
        optionsOf(now)[option] === baseline[option],
    );
    if (done.length === 0) return;
    for (const option of done) owned.delete(option);
    givenBack = { ...givenBack, ...pick({ ...optionsOf(now), ...baseline }, done) };
    baseline = pick(
      { ...optionsOf(now), ...baseline },
      Object.keys(baseline).filter((key) => !done.some((option) => option === key)),
    );
  };

  /** Another UID is another class, whatever its name: nothing of the one before is owned in it. */
  const noteOtherClass = (): void => {
    const uid = classNow()?.metadata.uid;
    if (uid === undefined || uid === classUid) return;
    if (classUid !== undefined) {
      baseline = {};
      givenBack = {};
      owned.clear();
      patchedAt = undefined;
      classBefore = undefined;
      // Of what used the class before without being of the pool, nothing is a build node any more.
      for (const known of [buildInstances, nodes, claims]) known.clear();
    }
    classUid = uid;
  };

  const isBuildClaim = (claim: NodeClaim): boolean =>
    isBuild(claim.metadata.labels) || claim.spec.nodeClassRef.name === buildClass();

  /** Before Karpenter has registered a node, only its provider id tells whose it is. */
  const isOfBuild = ({ metadata, spec }: Node): boolean =>
    isBuild(metadata.labels) ||
    truth
      .objects('NodeClaim')
      .some((claim) => isBuildClaim(claim) && claim.status?.providerID === spec.providerID);

  /** Everything there is, every few seconds and whenever somebody changed something in EC2. */
  const lookAtAll = (entries: readonly AuditEntry[]): void => {
    const now = truth.now().getTime();
    if (now - lookedAt < 5_000 && !entries.some((entry) => entry.write && entry.api.startsWith('ec2:')))
      return;
    lookedAt = now;
    for (const instance of truth.instances()) {
      instances.set(instance.instanceId, instance.metadataOptions);
      if (isBuild(instance.tags)) buildInstances.add(instance.instanceId);
    }
    for (const node of truth.objects('Node'))
      if (isBuild(node.metadata.labels)) nodes.add(node.metadata.name);
    for (const claim of truth.objects('NodeClaim')) if (isBuildClaim(claim)) claims.add(claim.metadata.name);
  };

  return {
    look(entries) {
      noteOtherClass();
      noteClassWrites(entries);
      for (const entry of entries) approvals.note(entry);
      noteOwned(entries);
      const parameterWrite = entries.findLast(
        (entry) => !isOurs(entry) && entry.write && entry.api.startsWith('ssm:'),
      );
      askedAt = parameterWrite?.at.getTime() ?? askedAt;
      const parameters = truth.parameters();
      const text = JSON.stringify(
        parameters.map(({ key, value, type, version }) => [key, value, type, version]),
      );
      if (text !== written) {
        const since = written === '' ? Number.NEGATIVE_INFINITY : truth.now().getTime();
        written = text;
        everAsked ||= parameters.some((parameter) => imdsKeys.includes(parameter.key));
        reading = readAsk(parameters);
        const external = reading.kind === 'asks' && reading.external;
        externalSince = external ? (externalSince ?? since) : undefined;
      }
      forgetUnowned();
      accept();
      giveBack();
      const now = classNow();
      classBefore = now && optionsOf(now);
      lookAtAll(entries);
    },
    reading: () => reading,
    askedAt: () => askedAt,
    everAsked: () => everAsked,
    acceptable: (within = inFlight) => {
      const since = truth.now().getTime() - within;
      const first = accepted.findLastIndex((entry) => entry.at <= since);
      return accepted.slice(Math.max(0, first));
    },
    newest: () => accepted.at(-1),
    baseline: () => baseline,
    givenBack: () => givenBack,
    priorValues: (option) => prior[option],
    instanceBefore: (id) => instances.get(id),
    // One that appeared since the last look at all is found in the world.
    isBuildNode: (name) =>
      nodes.has(name) || truth.objects('Node').some((node) => node.metadata.name === name && isOfBuild(node)),
    isBuildClaim: (name) =>
      claims.has(name) ||
      truth.objects('NodeClaim').some((claim) => claim.metadata.name === name && isBuildClaim(claim)),
    isBuildInstance: (id) =>
      buildInstances.has(id) ||
      truth.instances().some((instance) => instance.instanceId === id && isBuild(instance.tags)),
    buildClass,
    patchedAt: () => patchedAt,
    foreignWriteAt: () => foreignWriteAt,
    externalSince: () => externalSince,
  };
}

/**
 * What a rollout that is not over has patched the class to, or else the last success reached: somebody who loosens it by
 * hand approves of nothing.
 */
function patchedTo(truth: Truth, classUid: string): Options {
  const record = truth.record();
  if (record?.classUid !== classUid) return {};
  const isUnderway = record.patchedAt !== undefined && record.takingBack === undefined;
  return isUnderway ? { ...record.baseline, ...record.ask } : (record.reached ?? {});
}

function pick(options: Required<Options>, keys: readonly string[]): Options {
  return {
    ...(keys.includes('httpTokens') ? { httpTokens: options.httpTokens } : {}),
    ...(keys.includes('httpPutResponseHopLimit')
      ? { httpPutResponseHopLimit: options.httpPutResponseHopLimit }
      : {}),
  };
}
