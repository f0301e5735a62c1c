/** EKS as the product asks it: where the cluster is, and which principal enters it in which groups. */
import { z } from 'zod';

interface EksAnswer {
  status: number;
  body: object;
}

export interface Eks {
  /** One call of EKS's REST API. */
  answer(method: string, path: string, body: string): EksAnswer;
  /** What it says of where a cluster is; before that, there is none of this name. */
  place(cluster: string, whereabouts: Whereabouts): void;
  /** Of a principal's access entry, which are the same for all clusters here; undefined where it has none. */
  groupsOf(principalArn: string): readonly string[] | undefined;
}

export interface Whereabouts {
  endpoint: string;
  certificateAuthority: string;
}

interface AccessEntry {
  kubernetesGroups: string[];
  createdAt: Date;
}

const VERSION = '1.34';
const entrySchema = z.object({
  principalArn: z.string().optional(),
  kubernetesGroups: z.array(z.string()).default([]),
});

export function createEks(): Eks {
  const clusters = new Map<string, Whereabouts>();
  const entries = new Map<string, AccessEntry>();

  const described = (
    clusterName: string,
    principalArn: string,
    { kubernetesGroups, createdAt }: AccessEntry,
  ): EksAnswer => {
    const entry = { clusterName, principalArn, kubernetesGroups, type: 'STANDARD' };
    return { status: 200, body: { accessEntry: { ...entry, createdAt: createdAt.getTime() / 1000 } } };
  };
  const create = (cluster: string, body: string): EksAnswer => {
    const { principalArn = '', kubernetesGroups } = entrySchema.parse(JSON.parse(body));
    if (entries.has(principalArn)) return inUse(principalArn);
    const entry = { kubernetesGroups, createdAt: new Date() };
    entries.set(principalArn, entry);
    return described(cluster, principalArn, entry);
  };
  const ofOne = (cluster: string, method: string, principalArn: string, body: string): EksAnswer => {
    const entry = entries.get(principalArn);
    if (entry === undefined) {
      return notFound(`The specified principalArn could not be found: ${principalArn}`);
    }
    if (method === 'DELETE') {
      entries.delete(principalArn);
      return { status: 200, body: {} };
    }
    if (method === 'POST') entry.kubernetesGroups = entrySchema.parse(JSON.parse(body)).kubernetesGroups;
    return described(cluster, principalArn, entry);
  };

  return {
    groupsOf: (principalArn) => entries.get(principalArn)?.kubernetesGroups,
    place(cluster, whereabouts) {
      clusters.set(cluster, whereabouts);
    },
    answer(method, path, body) {
      const [, , name = '', part, principal] = path.split('/').map(decodeURIComponent);
      const found = clusters.get(name);
      if (found === undefined) return notFound(`No cluster found for name: ${name}.`);
      if (part === 'access-entries') {
        return principal === undefined ? create(name, body) : ofOne(name, method, principal, body);
      }
      const { endpoint, certificateAuthority } = found;
      const facts = {
        name,
        status: 'ACTIVE',
        version: VERSION,
        endpoint,
        certificateAuthority: { data: certificateAuthority },
        accessConfig: { authenticationMode: 'API' },
        resourcesVpcConfig: { endpointPublicAccess: true },
      };
      return { status: 200, body: { cluster: facts } };
    },
  };
}

const notFound = (message: string): EksAnswer => ({
  status: 404,
  body: { __type: 'ResourceNotFoundException', message },
});

const inUse = (principalArn: string): EksAnswer => ({
  status: 409,
  body: {
    __type: 'ResourceInUseException',
    message: `The specified access entry resource is already in use: ${principalArn}`,
  },
});
