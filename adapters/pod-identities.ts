/** EKS Pod Identity: which service accounts of a cluster get credentials from it. */
import { EKSClient, paginateListPodIdentityAssociations } from '@aws-sdk/client-eks';
import type { PodIdentities } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling } from './aws-errors.ts';

export const eksPodIdentities = (connection?: AwsConnection): PodIdentities =>
  createPodIdentities(new EKSClient(awsClient(connection)));

export function createPodIdentities(client: EKSClient): PodIdentities {
  return {
    list: (clusterName) =>
      calling('eks:ListPodIdentityAssociations', clusterName, async () => {
        const found: { namespace: string; serviceAccount: string }[] = [];
        for await (const { associations = [] } of paginateListPodIdentityAssociations(
          { client },
          { clusterName },
        )) {
          for (const { namespace, serviceAccount } of associations) {
            if (namespace !== undefined && serviceAccount !== undefined)
              found.push({ namespace, serviceAccount });
          }
        }
        return found;
      }),
  };
}
