/** Pools and classes of a cluster as a scenario has them. */
import type { EC2NodeClass, NodePool } from '../../rollout/kubernetes.ts';
import { classOptions } from '../../rollout/options.ts';
import { cpuOf, parseGoDuration } from '../../simulator/cluster/names.ts';
import { ownedOptions } from '../../simulator/run/collect.ts';
import { optionFields } from '../../simulator/scenario/values.ts';
import { durationText, type Notes, type Written } from './written.ts';

type WrittenClass = NonNullable<Written['classes']>[string];
type WrittenPool = NonNullable<Written['pools']>[string];
type Budget = NonNullable<WrittenPool['budgets']>[number];

/** `uid` where something is remembered of the class. */
export function classOf(
  { metadata, spec, status }: EC2NodeClass,
  isRemembered: boolean,
  notes: Notes,
): WrittenClass {
  const options = spec.metadataOptions;
  if (options?.httpProtocolIPv6 === 'enabled')
    notes.add(`EC2NodeClass ${metadata.name}: httpProtocolIPv6, which no rollout writes`);
  if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is !== 'True') === true)
    notes.add(`EC2NodeClass ${metadata.name} is not Ready: here it is at the start`);
  if (Object.keys(metadata.annotations ?? {}).some((key) => key.startsWith('imds-rollout/')))
    notes.add(`EC2NodeClass ${metadata.name}: what this service wrote on it for people to read`);
  const owners = (metadata.managedFields ?? []).flatMap((entry) => {
    const owned = ownedOptions(entry);
    const fields = optionFields.filter((field) => owned.includes(field));
    return fields.length === 0 ? [] : [{ manager: entry.manager, fields, operation: entry.operation }];
  });
  return {
    ...classOptions({ metadata, spec, kind: 'EC2NodeClass' }),
    ...(options?.httpEndpoint === 'disabled' && { httpEndpoint: 'disabled' as const }),
    ...(owners.length > 0 && { owners }),
    ...(isRemembered && { uid: metadata.uid }),
  };
}

export function poolOf(pool: NodePool, name: string, launching: number, notes: Notes): WrittenPool {
  const { template, disruption, limits = {}, replicas } = pool.spec;
  const { expireAfter, terminationGracePeriod, nodeClassRef } = template.spec;
  const said = `NodePool ${pool.metadata.name}`;
  if (name !== pool.metadata.name) notes.add(`${said} is called ${name} here`);
  if (disruption?.consolidationPolicy !== 'WhenEmpty')
    notes.add(`${said}: consolidationPolicy ${disruption?.consolidationPolicy ?? '(none)'}; here WhenEmpty`);
  const others = Object.keys(limits).filter((key) => key !== (replicas === undefined ? 'cpu' : 'nodes'));
  if (others.length > 0) notes.add(`${said}: limits of ${others.join(', ')}`);
  if ((template.spec.startupTaints ?? []).length > 0) notes.add(`${said}: its startupTaints`);
  return {
    class: nodeClassRef.name,
    ...(nodeClassRef.kind !== 'EC2NodeClass' && { classKind: nodeClassRef.kind }),
    limits: {
      ...(replicas === undefined && limits['cpu'] !== undefined && { cpu: cpuOf(limits['cpu']) }),
      ...(replicas !== undefined && limits['nodes'] !== undefined && { nodes: Number(limits['nodes']) }),
    },
    budgets: (disruption?.budgets ?? [{ nodes: '10%' }]).map((budget) => budgetOf(budget, said, notes)),
    consolidateAfter: goText(disruption?.consolidateAfter ?? 'Never'),
    expireAfter: goText(expireAfter ?? 'Never'),
    ...(terminationGracePeriod !== undefined && { terminationGracePeriod: goText(terminationGracePeriod) }),
    ...(replicas !== undefined && { replicas }),
    ...(launching > 0 && { launching }),
  };
}

type LiveBudget = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>[number];

const isReason = (word: string): word is NonNullable<Budget['reasons']>[number] =>
  word === 'Drifted' || word === 'Empty' || word === 'Underutilized';

function budgetOf({ nodes, reasons, schedule, duration }: LiveBudget, said: string, notes: Notes): Budget {
  const known = reasons?.filter(isReason);
  const isPlain = schedule !== undefined && /^\S+( \S+){4}$/.test(schedule) && duration !== undefined;
  if (schedule !== undefined && !isPlain)
    notes.add(`${said}: the schedule ${schedule} of a budget; here it counts always`);
  return {
    nodes,
    ...(known !== undefined && { reasons: known }),
    ...(isPlain && { schedule, duration }),
  };
}

/** Go's `1h30m` or Never as a scenario writes it. */
function goText(text: string): string {
  if (text === 'Never') return text;
  return durationText(parseGoDuration(text) ?? 0);
}
