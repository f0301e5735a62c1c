/** What a person's plan reads besides: CloudWatch's counts of IMDS and EKS Pod Identity, as the scenario has them. */
import { NotFoundError } from '../../rollout/errors.ts';
import type { PlanReads } from '../../rollout/ports.ts';
import type { Gate } from '../parts.ts';
import type { Scenario } from '../scenario/scenario.ts';

/** `instanceOf` says which instance a node is now; undefined once it is gone. */
export function createPlanReads(
  gate: Gate,
  { nodes, serviceAccounts }: Pick<Scenario, 'nodes' | 'serviceAccounts'>,
  { cluster, instanceOf }: { cluster: string; instanceOf: (node: string) => string | undefined },
): PlanReads {
  return {
    metrics: {
      sums: ({ metric, instanceIds }) =>
        gate.call({ api: 'cloudwatch:GetMetricData', target: metric }, () => {
          // The two exclude each other: EC2 counts the one while tokens are optional, the other while they are required.
          const tokens = metric === 'MetadataNoToken' ? 'optional' : 'required';
          const counted = nodes.flatMap(({ name, metadataNoToken, httpTokens }): [string, number][] => {
            const id = instanceOf(name);
            return id === undefined || metadataNoToken === null || httpTokens !== tokens
              ? []
              : [[id, metadataNoToken]];
          });
          return new Map(counted.filter(([id]) => instanceIds.includes(id)));
        }),
    },
    podIdentities: {
      list: (name) =>
        gate.call({ api: 'eks:ListPodIdentityAssociations', target: name }, () => {
          if (name !== cluster) throw new NotFoundError(`No cluster found for name: ${name}.`);
          return serviceAccounts
            .filter(({ podIdentity }) => podIdentity)
            .map(({ namespace, name: serviceAccount }) => ({ namespace, serviceAccount }));
        }),
    },
  };
}
