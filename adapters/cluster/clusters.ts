/** Connects to EKS clusters by name. */
import { DescribeClusterCommand, type EKSClient } from '@aws-sdk/client-eks';
import { TransientError } from '../../rollout/errors.ts';
import type { Clock, Cluster, Clusters } from '../../rollout/ports.ts';
import { calling } from '../aws-errors.ts';
import { createApiClient, type ApiClient, type ApiServer } from './api-client.ts';
import { createCluster } from './cluster.ts';
import { KubernetesStatus } from './errors.ts';
import { createTokens } from './token.ts';

export function createClusters(client: EKSClient, clock: Clock): Clusters {
  /** Kept while a Lambda lives: endpoint and authority are those of the cluster's whole life. */
  const known = new Map<string, Promise<Cluster>>();

  const connect = async (name: string): Promise<Cluster> => {
    const { cluster } = await calling('eks:DescribeCluster', name, () =>
      client.send(new DescribeClusterCommand({ name })),
    );
    const certificateAuthority = cluster?.certificateAuthority?.data;
    if (cluster?.endpoint === undefined || certificateAuthority === undefined) {
      throw new TransientError(
        `cluster ${name} is ${cluster?.status ?? 'in no known state'}: it has no endpoint and authority yet`,
      );
    }
    const server: ApiServer = {
      name,
      endpoint: cluster.endpoint,
      certificateAuthority,
      token: createTokens(
        { region: await client.config.region(), credentials: client.config.credentials, clock },
        name,
      ),
    };
    const api = createApiClient(server);
    return createCluster(
      forgetting(api, () => known.delete(name)),
      clock,
    );
  };

  return {
    connect: (name) => {
      const cluster = known.get(name) ?? connect(name);
      known.set(name, cluster);
      cluster.catch(() => known.delete(name));
      return cluster;
    },
  };
}

/** A cluster made again under the same name has another endpoint and authority: look them up anew after a failure. */
function forgetting(api: ApiClient, forget: () => void): ApiClient {
  return async (call) => {
    try {
      return await api(call);
    } catch (error) {
      if (error instanceof TransientError || isUnauthorized(error)) forget();
      throw error;
    }
  };
}

const isUnauthorized = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof KubernetesStatus && error.cause.code === 401;
