/** Others who write the class, in the ways in which Terraform, Helm, Argo CD and Flux apply what they render. */
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { ConflictError } from '../../rollout/errors.ts';
import { verbsOf } from './verbs.ts';

type Fields = Record<string, unknown>;

/** What is rendered of the class: its options as they stand there, any of them left out. */
export interface Rendered {
  httpTokens?: 'optional' | 'required';
  httpPutResponseHopLimit?: number;
}

export type Applied = 'created' | 'changed' | 'unchanged' | { refused: string };

export interface Owner {
  /** As it reads in managedFields. */
  manager: string;
  /** Applies the class with these options, once. */
  apply(options: Rendered): Promise<Applied>;
}

const CLASSES = '/apis/karpenter.k8s.aws/v1/ec2nodeclasses';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** The class of the build nodes, every field that a rack's Terraform sets. */
const render = (name: string, options: Rendered): Fields => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name },
  spec: {
    role: 'demo-build-nodes',
    subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'demo' } }],
    securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'demo' } }],
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    blockDeviceMappings: [
      { deviceName: '/dev/xvda', ebs: { volumeType: 'gp3', volumeSize: '100Gi', encrypted: true } },
    ],
    metadataOptions: { ...options, httpEndpoint: 'enabled' },
    tags: { Name: 'demo/karpenter/build', Rack: 'demo' },
  },
});

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is new or other in `after`, of what it names. */
function changesTo(before: Fields, after: Fields): Fields {
  return Object.fromEntries(
    Object.entries(after).flatMap(([key, value]): [string, unknown][] => {
      const was = before[key];
      if (isFields(value) && isFields(was)) {
        const inner = changesTo(was, value);
        return Object.keys(inner).length === 0 ? [] : [[key, inner]];
      }
      return JSON.stringify(was) === JSON.stringify(value) ? [] : [[key, value]];
    }),
  );
}

/** null for what `before` had and `after` has no longer. */
function removalsFrom(before: Fields, after: Fields): Fields {
  return Object.fromEntries(
    Object.entries(before).flatMap(([key, was]): [string, unknown][] => {
      if (!(key in after)) return [[key, null]];
      const value = after[key];
      if (!isFields(was) || !isFields(value)) return [];
      const inner = removalsFrom(was, value);
      return Object.keys(inner).length === 0 ? [] : [[key, inner]];
    }),
  );
}

const merged = (one: Fields, other: Fields): Fields =>
  Object.entries(other).reduce<Fields>((all, [key, value]) => {
    const mine = all[key];
    return { ...all, [key]: isFields(mine) && isFields(value) ? merged(mine, value) : value };
  }, one);

/**
 * `kubectl apply`, as kubectl_manifest and Helm's client-side mode do it too: a three-way merge of what was applied
 * last, what is to be and what is there (k8s.io/apimachinery, jsonmergepatch.CreateThreeWayJSONMergePatch).
 */
export function clientSide(api: ApiClient, name: string, manager: string): Owner {
  const verbs = verbsOf(api);
  return {
    manager,
    async apply(options) {
      const plain = render(name, options);
      const metadata = { name, annotations: { [LAST_APPLIED]: `${JSON.stringify(plain)}\n` } };
      const modified = { ...plain, metadata };
      const current = await find(api, name);
      if (current === undefined) {
        await verbs.create(CLASSES, modified, manager);
        return 'created';
      }
      const last = (current['metadata'] as { annotations?: Record<string, string> }).annotations?.[
        LAST_APPLIED
      ];
      const body = merged(
        removalsFrom(last === undefined ? {} : (JSON.parse(last) as Fields), plain),
        changesTo(current, modified),
      );
      if (Object.keys(body).length === 0) return 'unchanged';
      return outcome(current, await verbs.merge(`${CLASSES}/${name}`, body, manager));
    },
  };
}

/** Server-side apply: `Terraform` of kubernetes_manifest, Flux, Helm 4 and Argo CD with ServerSideApply. */
export function serverSide(api: ApiClient, name: string, manager: string, force: boolean): Owner {
  return {
    manager,
    async apply(options) {
      const current = await find(api, name);
      try {
        const after = await verbsOf(api).apply(`${CLASSES}/${name}`, render(name, options), manager, force);
        return current === undefined ? 'created' : outcome(current, after);
      } catch (error) {
        if (error instanceof ConflictError) return { refused: error.message };
        throw error;
      }
    },
  };
}

async function find(api: ApiClient, name: string): Promise<Fields | undefined> {
  const list = (await api({ verb: 'list', resource: 'ec2nodeclasses', method: 'GET', path: CLASSES })) as {
    items: (Fields & { metadata: { name: string } })[];
  };
  const found = list.items.find(({ metadata }) => metadata.name === name);
  return found && { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', ...found };
}

const outcome = (before: Fields, after: unknown): Applied =>
  JSON.stringify(before['spec']) === JSON.stringify((after as Fields)['spec']) ? 'unchanged' : 'changed';
