/** What CloudWatch counted of IMDSv1 on the build instances. */
import type { HttpTokens } from '../../rollout/ec2.ts';
import type { Fleet } from '../../rollout/fleet.ts';
import type { ImdsUse } from './explanation.ts';
import type { Look } from './one-look.ts';

const DAY_MS = 86_400_000;

/** null where it may not be read; an instance of which nothing was measured has no count, never zero. */
export async function imdsUse(look: Look, { nodes }: Fleet, days: number): Promise<ImdsUse[] | null> {
  const known = nodes.flatMap(({ name, instance }) =>
    instance?.metadataOptions === undefined
      ? []
      : [{ node: name, instanceId: instance.instanceId, tokens: instance.metadataOptions.httpTokens }],
  );
  const until = look.ports.clock.now();
  const since = new Date(until.getTime() - days * DAY_MS);
  const sums = async (metric: ImdsUse['metric']): Promise<Map<string, number>> => {
    const instanceIds = known.filter((each) => metricOf(each.tokens) === metric).map(idOf);
    return instanceIds.length === 0
      ? new Map()
      : look.ports.metrics.sums({ metric, instanceIds, since, until });
  };
  const counted = await look.attempt('whether IMDSv1 is used', 'cloudwatch:GetMetricData', () =>
    Promise.all([sums('MetadataNoToken'), sums('MetadataNoTokenRejected')]),
  );
  if (counted === null) return null;
  return known.map(({ node, instanceId, tokens }) => ({
    node,
    instanceId,
    metric: metricOf(tokens),
    count: counted.map((each) => each.get(instanceId)).find((sum) => sum !== undefined) ?? null,
  }));
}

const idOf = ({ instanceId }: { instanceId: string }): string => instanceId;

/** EC2 counts the one while tokens are optional, the other while they are required. */
const metricOf = (tokens: HttpTokens): ImdsUse['metric'] =>
  tokens === 'optional' ? 'MetadataNoToken' : 'MetadataNoTokenRejected';
