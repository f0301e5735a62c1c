/**
 * One look: every read is made once, so that all parts of a plan are about the same moment, and what may not be read
 * is remembered by name in the place of ending the plan. Writes are not passed on at all.
 */
import { ForbiddenError, NotFoundError, TransientError } from '../../rollout/errors.ts';
import type { Kind, ObjectsByKind } from '../../rollout/kubernetes.ts';
import type { Cluster, PlanReads, SharedPorts } from '../../rollout/ports.ts';
import type { PlanPorts } from '../../rollout/plan.ts';

interface Unknown {
  /** What of the plan is not known. */
  part: string;
  /** What it takes to read it. */
  needs: string;
  why: string;
}

export interface Look {
  /** To read through: fails as the neighbours do, once each. */
  ports: Omit<PlanPorts, 'reports' | 'approvals'> & PlanReads;
  unknowns: readonly Unknown[];
  /** What the read gives, or null where it may or can not be read, which is remembered. */
  attempt<T>(part: string, needs: string, read: () => Promise<T>): Promise<T | null>;
  /** All objects of a kind, or null where they may not be listed. */
  list<K extends Kind>(part: string, cluster: Cluster, kind: K): Promise<ObjectsByKind[K][] | null>;
}

export function lookOnce(ports: SharedPorts, reads: PlanReads): Look {
  const unknowns: Unknown[] = [];
  const remember = memory();
  const attempt = async <T>(part: string, needs: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      // Whatever else goes wrong is a fault of ours, which must be seen.
      const isOutside = [ForbiddenError, TransientError, NotFoundError].some((kind) => error instanceof kind);
      if (!isOutside || !(error instanceof Error)) throw error;
      if (!unknowns.some((known) => known.part === part)) unknowns.push({ part, needs, why: error.message });
      return null;
    }
  };
  return {
    ports: {
      clock: ports.clock,
      parameters: {
        list: (rack) => remember(`parameters ${rack}`, () => ports.parameters.list(rack)),
        history: (rack, key) => remember(`history ${rack} ${key}`, () => ports.parameters.history(rack, key)),
      },
      records: {
        registrations: () => remember('registrations', () => ports.records.registrations()),
        registration: (rack) => remember(`registration ${rack}`, () => ports.records.registration(rack)),
        read: (rack) => remember(`record ${rack}`, () => ports.records.read(rack)),
        write: refuse,
      },
      instances: {
        find: (query) => remember(`instances ${JSON.stringify(query)}`, () => ports.instances.find(query)),
        accountDefaults: () => remember('account', () => ports.instances.accountDefaults()),
        modifyMetadataOptions: refuse,
      },
      clusters: {
        connect: (name) =>
          remember(`cluster ${name}`, async () =>
            readingOnce(await ports.clusters.connect(name), `cluster ${name}`, remember),
          ),
      },
      workflow: {
        start: refuse,
        answer: refuse,
        answers: (name) => remember(`answers ${name}`, () => ports.workflow.answers(name)),
        running: () => remember('running', () => ports.workflow.running()),
        describe: (name) => remember(`execution ${name}`, () => ports.workflow.describe(name)),
      },
      metrics: { sums: (query) => reads.metrics.sums(query) },
      podIdentities: { list: (cluster) => reads.podIdentities.list(cluster) },
    },
    unknowns,
    attempt,
    list: (part, cluster, kind) => attempt(part, `list ${kind} in the cluster`, () => cluster.list(kind)),
  };
}

type Remember = <T>(key: string, read: () => Promise<T>) => Promise<T>;

function memory(): Remember {
  const known = new Map<string, Promise<unknown>>();
  // Each key is read by one function of one type.
  return <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const found = known.get(key) as Promise<T> | undefined;
    if (found !== undefined) return found;
    const answer = read();
    known.set(key, answer);
    return answer;
  };
}

const readingOnce = (cluster: Cluster, name: string, remember: Remember): Cluster => ({
  get: (kind, object) => remember(`${name} ${kind} ${object}`, () => cluster.get(kind, object)),
  list: (kind) => remember(`${name} ${kind}`, () => cluster.list(kind)),
  finishedPods: () => remember(`${name} finished pods`, () => cluster.finishedPods()),
  failedPods: (node) => remember(`${name} failed ${node}`, () => cluster.failedPods(node)),
  patch: refuse,
  emit: refuse,
});

/** A plan that came to write would be a fault: it ends there. */
const refuse = (): Promise<never> => Promise.reject(new Error('a plan writes nothing'));
