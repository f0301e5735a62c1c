/** The Builds: bare pods that run for a while, may need IMDS, and are given up after 10 minutes of waiting. */
import type { LostTo } from '../parts.ts';
import type { Pod } from '../../rollout/kubernetes.ts';
import type { Instance } from '../../rollout/ec2.ts';
import type { Kubelets } from './kubelets.ts';
import { stamp } from './names.ts';
import { buildDraft } from './objects.ts';
import { isTerminating } from './pods.ts';
import { now, type BuildSpec, type SimulatedBuildReport, type World } from './types.ts';

const givenUpMs = 10 * 60_000;

interface Build {
  spec: BuildSpec;
  uid: string;
  createdAt: number;
  startedAt: number | undefined;
  node: string | null;
  outcome: SimulatedBuildReport['outcome'];
  endedAt: number | undefined;
  changedUnder: boolean;
  why: string | undefined;
  lostTo: LostTo | undefined;
}

export interface Builds {
  add(spec: BuildSpec): void;
  reports(): SimulatedBuildReport[];
  unfinished(): boolean;
}

/** Whether a Build that uses IMDS so gets an answer. Source: IMDS behaviour of EC2, hop limits as pods meet them. */
function imdsAnswers(
  uses: NonNullable<BuildSpec['usesImds']>,
  options: Instance['metadataOptions'],
): string | undefined {
  if (uses === 'none') return undefined;
  if (options === undefined || options.httpEndpoint === 'disabled') return 'the IMDS endpoint is disabled';
  if (uses === 'v1') {
    return options.httpTokens === 'optional' ? undefined : 'IMDSv1 was answered 401: tokens are required';
  }
  const needs = uses === 'v2-pod' ? 2 : 3;
  if (options.httpPutResponseHopLimit >= needs) return undefined;
  return `the IMDSv2 token never came: hop limit ${options.httpPutResponseHopLimit}, needed ${needs}`;
}

export function createBuilds(world: World, kubelets: Kubelets): Builds {
  const { store, clock, machines } = world;
  const builds = new Map<string, Build>();
  let unfinished = 0;

  function add(spec: BuildSpec): void {
    const startedAgo = spec.node === undefined ? 0 : (spec.startedAgoMs ?? 0);
    const at = now(world);
    const pod = store.create('Pod', buildDraft(spec, stamp(new Date(at - startedAgo))));
    const build: Build = {
      spec,
      uid: pod.metadata.uid,
      createdAt: at - startedAgo,
      startedAt: undefined,
      node: spec.node ?? null,
      outcome: 'running',
      endedAt: undefined,
      changedUnder: false,
      why: undefined,
      lostTo: undefined,
    };
    builds.set(spec.name, build);
    unfinished += 1;
    if (spec.node !== undefined) {
      store.update('Pod', spec.name, (current) => ({
        ...current,
        status: {
          phase: 'Running',
          startTime: stamp(new Date(at - startedAgo)),
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      }));
      if (build.startedAt === undefined) start(build, at - startedAgo);
      return;
    }
    clock.after(givenUpMs, () => {
      giveUp(build);
    });
  }

  function start(build: Build, at: number): void {
    build.startedAt = at;
    const { spec } = build;
    const elapsed = now(world) - at;
    clock.after(Math.max(0, spec.runsForMs - elapsed), () => {
      if (build.outcome !== 'running') return;
      finish(build, 'finished');
      kubelets.end(spec.name, 'Succeeded');
    });
    const uses = spec.usesImds ?? 'none';
    const usesAt = (spec.usesImdsAtMs ?? spec.runsForMs / 2) - elapsed;
    // What lies in the past was answered.
    if (uses === 'none' || usesAt < 0) return;
    clock.after(usesAt, () => {
      if (build.outcome !== 'running') return;
      const instance = instanceOf(build);
      if (uses === 'v1' && instance !== undefined) machines.callImdsV1(instance.instanceId);
      const problem = imdsAnswers(uses, instance?.metadataOptions);
      if (problem === undefined) return;
      build.why = problem;
      finish(build, 'brokenByImds');
      kubelets.end(spec.name, 'Failed');
    });
  }

  function instanceOf(build: Build): Instance | undefined {
    const node = build.node === null ? undefined : store.get('Node', build.node);
    return machines.get(node?.spec.providerID?.split('/').at(-1) ?? '');
  }

  function giveUp(build: Build): void {
    if (build.outcome !== 'running' || build.startedAt !== undefined) return;
    build.why = 'it waited for 10 minutes';
    finish(build, 'givenUp');
    const pod = store.get('Pod', build.spec.name);
    if (pod?.spec.nodeName === undefined) store.remove('Pod', build.spec.name);
    else kubelets.end(build.spec.name, 'Failed');
  }

  function finish(build: Build, outcome: SimulatedBuildReport['outcome']): void {
    build.outcome = outcome;
    build.endedAt = now(world);
    unfinished -= 1;
  }

  function lose(build: Build): void {
    const loss = kubelets.lossOf(build.uid);
    build.why = loss?.why ?? 'its pod was deleted';
    build.lostTo = loss?.lostTo ?? 'hand';
    finish(build, 'evicted');
  }

  function follow(pod: Pod, gone: boolean): void {
    const build = builds.get(pod.metadata.name);
    if (build?.uid !== pod.metadata.uid || build.outcome !== 'running') return;
    if (gone || isTerminating(pod)) {
      lose(build);
      return;
    }
    if (pod.spec.nodeName !== undefined) build.node = pod.spec.nodeName;
    if (pod.status?.phase === 'Running' && build.startedAt === undefined && build.spec.node === undefined) {
      start(build, now(world));
    }
  }

  store.watch('Pod', ({ before, after }) => {
    const pod = after ?? before;
    if (pod !== undefined) follow(pod, after === undefined);
  });
  machines.onApplied((instance) => {
    for (const build of builds.values()) {
      if (build.outcome !== 'running' || build.startedAt === undefined) continue;
      if (instanceOf(build)?.instanceId === instance.instanceId) build.changedUnder = true;
    }
  });

  return {
    add,
    unfinished: () => unfinished > 0,
    reports: () =>
      [...builds.values()].map((build) => ({
        name: build.spec.name,
        node: build.node,
        outcome: build.outcome,
        waitedSeconds: Math.round(
          ((build.startedAt ?? build.endedAt ?? now(world)) - build.createdAt) / 1_000,
        ),
        changedUnder: build.changedUnder,
        ...(build.why === undefined ? {} : { why: build.why }),
        ...(build.lostTo === undefined ? {} : { lostTo: build.lostTo }),
        ...(build.endedAt === undefined ? {} : { endedAt: new Date(build.endedAt).toISOString() }),
      })),
  };
}
