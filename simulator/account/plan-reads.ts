/** What a person's plan reads besides the ports: EKS Pod Identity, as the scenario has it, beside CloudWatch's counts. */
import { NotFoundError } from '../../rollout/errors.ts';
import type { MetadataMetrics, PlanReads } from '../../rollout/ports.ts';
import type { Gate } from '../parts.ts';
import type { Scenario } from '../scenario/scenario.ts';

export function createPlanReads(
  gate: Gate,
  { serviceAccounts }: Pick<Scenario, 'serviceAccounts'>,
  { cluster, metrics }: { cluster: string; metrics: MetadataMetrics },
): PlanReads {
  return {
    metrics,
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
