/** EKS as who registers a rack sees it: the cluster itself, and who may enter it. */
import {
  CreateAccessEntryCommand,
  DeleteAccessEntryCommand,
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
  UpdateAccessEntryCommand,
  type EKSClient,
} from '@aws-sdk/client-eks';
import { GetRoleCommand, type IAMClient } from '@aws-sdk/client-iam';
import { calling, unlessMissing } from '../../adapters/aws-errors.ts';

export interface ClusterFacts {
  name: string;
  status: string;
  /** Kubernetes' version, e.g. `1.34`. */
  version: string;
  authenticationMode: string;
  isPublic: boolean;
  isPrivate: boolean;
  /** Whom a public endpoint lets in. */
  publicAccessCidrs: string[];
  endpoint: string | undefined;
  certificateAuthority: string | undefined;
}

export interface AccessEntry {
  groups: string[];
  type: string;
  createdAt: Date | undefined;
}

export interface Access {
  /** undefined where there is no such cluster. */
  cluster(name: string): Promise<ClusterFacts | undefined>;
  entry(cluster: string, role: string): Promise<AccessEntry | undefined>;
  create(cluster: string, role: string, groups: string[]): Promise<void>;
  setGroups(cluster: string, role: string, groups: string[]): Promise<void>;
  /** False where there was none. */
  remove(cluster: string, role: string): Promise<boolean>;
  /** When the role was made; undefined where there is none. */
  roleMadeAt(arn: string): Promise<Date | undefined>;
}

export function createAccess(eks: EKSClient, iam: IAMClient): Access {
  const of = (clusterName: string, principalArn: string) => ({ clusterName, principalArn });
  return {
    cluster: (name) =>
      unlessMissing(
        calling('eks:DescribeCluster', name, async () => {
          const { cluster } = await eks.send(new DescribeClusterCommand({ name }));
          return {
            name,
            status: cluster?.status ?? 'unknown',
            version: cluster?.version ?? '',
            authenticationMode: cluster?.accessConfig?.authenticationMode ?? 'unknown',
            isPublic: cluster?.resourcesVpcConfig?.endpointPublicAccess ?? true,
            isPrivate: cluster?.resourcesVpcConfig?.endpointPrivateAccess ?? false,
            publicAccessCidrs: cluster?.resourcesVpcConfig?.publicAccessCidrs ?? [],
            endpoint: cluster?.endpoint,
            certificateAuthority: cluster?.certificateAuthority?.data,
          };
        }),
      ),
    entry: (cluster, role) =>
      unlessMissing(
        calling('eks:DescribeAccessEntry', role, async () => {
          const { accessEntry } = await eks.send(new DescribeAccessEntryCommand(of(cluster, role)));
          return {
            groups: accessEntry?.kubernetesGroups ?? [],
            type: accessEntry?.type ?? 'unknown',
            createdAt: accessEntry?.createdAt,
          };
        }),
      ),
    create: async (cluster, role, kubernetesGroups) => {
      await calling('eks:CreateAccessEntry', role, () =>
        eks.send(new CreateAccessEntryCommand({ ...of(cluster, role), kubernetesGroups, type: 'STANDARD' })),
      );
    },
    setGroups: async (cluster, role, kubernetesGroups) => {
      await calling('eks:UpdateAccessEntry', role, () =>
        eks.send(new UpdateAccessEntryCommand({ ...of(cluster, role), kubernetesGroups })),
      );
    },
    remove: async (cluster, role) => {
      const answer = await unlessMissing(
        calling('eks:DeleteAccessEntry', role, () =>
          eks.send(new DeleteAccessEntryCommand(of(cluster, role))),
        ),
      );
      return answer !== undefined;
    },
    roleMadeAt: (arn) =>
      unlessMissing(
        calling('iam:GetRole', arn, async () => {
          const { Role } = await iam.send(
            new GetRoleCommand({ RoleName: arn.slice(arn.lastIndexOf('/') + 1) }),
          );
          return Role?.CreateDate;
        }),
      ),
  };
}
