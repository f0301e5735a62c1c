/** The fixed words of a scenario that code elsewhere knows too. */

/** The functions whose next invocation a scenario can crash. */
export const functionNames = [
  'parameter-changed',
  'reconcile',
  'rollout-ended',
  'plan',
  'approve',
  'hold-and-patch',
  'observe',
  'modify-stragglers',
  'take-back',
  'conclude',
] as const;
export type FunctionName = (typeof functionNames)[number];

/** Commands of the contract, by which a person steers a rollout. */
export const commandNames = ['pause', 'resume', 'abort', 'retry', 'approve', 'reject'] as const;
export type CommandName = (typeof commandNames)[number];

/** Those that the product has: a timeline cannot play the others. */
export const availableCommands: readonly CommandName[] = ['retry', 'approve', 'reject'];

const kinds = [
  'EC2NodeClass',
  'NodePool',
  'NodeClaim',
  'Node',
  'Pod',
  'PodDisruptionBudget',
  'Lease',
  'Event',
  'DaemonSet',
  'ReplicaSet',
  'StatefulSet',
  'ServiceAccount',
] as const;

/** Every API that a fault can hit, as the gate and the audit name them. */
export const apis: readonly string[] = [
  'ssm:GetParametersByPath',
  'ssm:GetParameterHistory',
  'ssm:GetParameter',
  'ssm:PutParameter',
  'ec2:DescribeInstances',
  'ec2:ModifyInstanceMetadataOptions',
  'ec2:GetInstanceMetadataDefaults',
  'eks:DescribeCluster',
  'eks:ListPodIdentityAssociations',
  'cloudwatch:GetMetricData',
  'states:StartExecution',
  'states:ListExecutions',
  'states:DescribeExecution',
  'states:SendTaskSuccess',
  'sts:GetCallerIdentity',
  's3:PutObject',
  's3:GetObject',
  's3:ListObjectsV2',
  'events:PutEvents',
  ...kinds.flatMap((kind) => [`kubernetes:get ${kind}`, `kubernetes:list ${kind}`]),
  ...['EC2NodeClass', 'NodeClaim', 'Node', 'Lease'].map((kind) => `kubernetes:patch ${kind}`),
  'kubernetes:create Event',
];

/** Whole services, e.g. `kubernetes:*` for a cluster that cannot be reached. */
export const apiWildcards: readonly string[] = [
  ...new Set(apis.map((api) => `${api.split(':')[0] ?? ''}:*`)),
];

/** Whether a fault's `api` is about this call. */
export function faultHits(pattern: string, api: string): boolean {
  return pattern === api || (pattern.endsWith(':*') && api.startsWith(pattern.slice(0, -1)));
}
