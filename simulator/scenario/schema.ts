/**
 * The scenario as people write it (YAML), with every default. `scenario.ts` is what the simulator gets.
 * Each message says what is accepted: load.ts puts file, line, path and value before it.
 */
import { z } from 'zod';
import { holdSchema } from '../../rollout/hold.ts';
import { recordSchema } from '../../rollout/record.ts';
import { apis, apiWildcards, commandNames, functionNames } from './names.ts';
import {
  bool,
  duration,
  durationOrNever,
  durationText,
  endpoint,
  hopLimit,
  httpTokens,
  labels,
  milliseconds,
  moment,
  objectName,
  oneOf,
  optionFields,
  parameterKey,
  parameters,
  positive,
  share,
  signedClock,
  signedDuration,
  whole,
} from './values.ts';

const nodeClassShape = {
  httpTokens: httpTokens.prefault('required').describe("Absent: Karpenter's own default, required"),
  httpPutResponseHopLimit: hopLimit.prefault(1).describe("Absent: Karpenter's own default, 1"),
  httpEndpoint: endpoint.prefault('enabled'),
  owners: z
    .array(
      z.strictObject({
        manager: z.string('the name of a field manager').min(1, 'the name of a field manager'),
        fields: z.array(oneOf(optionFields)),
        operation: oneOf(['Apply', 'Update']).prefault('Apply'),
      }),
      'a list of {manager, fields}',
    )
    .prefault([]),
};
const nodeClass = z.strictObject({
  ...nodeClassShape,
  uid: z
    .string('a UID')
    .min(1, 'a UID')
    .exactOptional()
    .describe('Absent: any. What a record says is about the class of one UID'),
});

const budgetText = 'a count or a percentage such as "10%"';
const cronText = 'five fields of cron such as "0 9 * * mon-fri"';
const goText = 'a duration as Karpenter writes it, such as 8h or 1h30m';
const budget = z.strictObject({
  nodes: z
    .union([z.string().regex(/^\d+%?$/, budgetText), z.int(budgetText).min(0, budgetText)], {
      error: budgetText,
    })
    .transform(String),
  reasons: z.array(oneOf(['Drifted', 'Empty', 'Underutilized'])).exactOptional(),
  schedule: z
    .string(cronText)
    .regex(/^\S+( \S+){4}$/, cronText)
    .exactOptional()
    .describe('In UTC, with a duration: when the budget counts; absent: always'),
  duration: z
    .string(goText)
    .regex(/^(\d+h)?(\d+m)?(\d+s)?$/, goText)
    .min(1, goText)
    .exactOptional(),
});

const kindText = 'a kind such as EC2NodeClass';
const pool = z.strictObject({
  class: objectName.exactOptional().describe("Absent: the class of the pool's own name"),
  classKind: z
    .string(kindText)
    .regex(/^[A-Z][A-Za-z0-9]*$/, kindText)
    .prefault('EC2NodeClass')
    .describe('The kind that the pool refers to: of any other nothing is launched'),
  limits: z
    .strictObject({
      cpu: positive('a number of cpus').exactOptional(),
      nodes: whole('a whole number from 1', 1).exactOptional().describe('For a static pool alone'),
    })
    .prefault({}),
  budgets: z.array(budget, 'a list of {nodes}').prefault([{ nodes: '10%' }]),
  consolidateAfter: durationOrNever.prefault('Never'),
  expireAfter: durationOrNever.prefault('Never'),
  terminationGracePeriod: duration.nullable().prefault(null),
  replicas: whole('a whole number, or null', 0).nullable().prefault(null),
  launching: whole('a whole number', 0)
    .prefault(0)
    .describe('NodeClaims that are on their way at the start, from the beginning of their launch'),
});

const buildShape = {
  name: objectName,
  namespace: objectName.prefault('builds'),
  runsFor: duration,
  cpu: positive('a number of cpus').prefault(1),
  usesImds: oneOf(['none', 'v1', 'v2-pod', 'v2-nested']).prefault('none'),
  at: duration.exactOptional().describe('When the Build uses IMDS, counted from its own start'),
  labels: labels.prefault({}),
};
const newBuild = z.strictObject(buildShape);
const runningBuild = z.strictObject({ ...buildShape, startsAt: signedDuration.prefault('0s') });

const pod = z.strictObject({
  name: objectName,
  ownedBy: z.string('a kind such as DaemonSet, or null').nullable().prefault(null),
  cpu: z.number('a number of cpus').min(0, 'a number of cpus').prefault(0),
  hostNetwork: bool.prefault(false),
  pdb: objectName.nullable().prefault(null).describe('The PodDisruptionBudget that covers it'),
  evictable: bool.prefault(true),
  doNotDisrupt: bool.prefault(false).describe('The annotation karpenter.sh/do-not-disrupt of the pod itself'),
  labels: labels.prefault({}),
  namespace: objectName.prefault('builds'),
  owner: objectName
    .exactOptional()
    .describe(
      "What owns it; absent: the pod's name without its last part. A Deployment owns it through a ReplicaSet",
    ),
  replicas: whole('a whole number', 0)
    .exactOptional()
    .describe(
      'Of the Deployment, ReplicaSet or StatefulSet that owns it; absent: as many as there are pods of it',
    ),
  image: z.string('an image').min(1, 'an image').exactOptional(),
  serviceAccount: objectName.prefault('default'),
  privileged: bool.prefault(false),
});

const serviceAccount = z.strictObject({
  name: objectName,
  namespace: objectName.prefault('builds'),
  role: z
    .string('the ARN of an IAM role')
    .regex(/^arn:[\w-]+:iam::\d{12}:role\/.+$/, 'the ARN of an IAM role')
    .exactOptional()
    .describe('IRSA: the annotation eks.amazonaws.com/role-arn'),
  podIdentity: bool.prefault(false).describe('An association of EKS Pod Identity'),
});

/** More than any rack has, and as many as are played in minutes. */
const MOST = 5000;
const countText = `a whole number from 1 to ${String(MOST)}`;
const node = z.strictObject({
  name: objectName.exactOptional(),
  pool: objectName,
  count: z.int(countText).min(1, countText).max(MOST, countText).prefault(1),
  cpu: positive('a number of cpus').prefault(4),
  httpTokens: httpTokens.exactOptional(),
  hopLimit: hopLimit.exactOptional(),
  httpEndpoint: endpoint.exactOptional(),
  builds: z.array(runningBuild, 'a list of Builds').prefault([]),
  pods: z.array(pod, 'a list of pods').prefault([]),
  metadataNoToken: whole('a whole number', 0)
    .exactOptional()
    .describe(
      'What CloudWatch counted of IMDSv1 on it (rejected attempts where tokens are required); absent: nothing was measured',
    ),
  doNotDisrupt: bool.prefault(false),
  ready: bool.prefault(true),
  age: duration
    .exactOptional()
    .describe(
      'Since its NodeClaim was created; absent: the first a day, each a minute less than the one before',
    ),
  cordoned: bool.prefault(false),
  hold: holdSchema
    .exactOptional()
    .describe(
      "The service's own hold: what its annotation says. Cordon and protection are keys of their own",
    ),
  drifted: bool.prefault(false).describe('Its NodeClaim has the hash of a class of before'),
});

const hashText = 'awaited, first, or 12 hexadecimal digits';
const lateText = 'lost, doubled, late:2m';
const capacityText = 'ok, none, after:10m';
const yes = z.literal(true, 'true');

const timelineEntry = z.strictObject({
  at: moment,
  set: parameters.exactOptional(),
  unset: z.array(parameterKey, 'a list of parameters').exactOptional(),
  build: newBuild.exactOptional(),
  editClass: z
    .strictObject({
      class: objectName,
      manager: z
        .string('the name of a field manager')
        .min(1, 'the name of a field manager')
        .prefault('kubectl'),
      httpTokens: httpTokens.exactOptional(),
      httpPutResponseHopLimit: hopLimit.exactOptional(),
      httpEndpoint: endpoint.exactOptional(),
    })
    .exactOptional(),
  modifyInstance: z
    .strictObject({
      node: objectName,
      httpTokens: httpTokens.exactOptional(),
      hopLimit: hopLimit.exactOptional(),
      httpEndpoint: endpoint.exactOptional(),
    })
    .exactOptional(),
  event: z
    .string(lateText)
    .regex(/^(lost|doubled|late:\d+(s|m|h|d))$/, lateText)
    .exactOptional(),
  command: oneOf(commandNames)
    .exactOptional()
    .describe(
      'retry, approve and reject are played; pause, resume and abort are of the format and refused, since the product has no such command',
    ),
  by: z
    .string('an ARN, or nobody')
    .min(1, 'an ARN, or nobody')
    .exactOptional()
    .describe('Of approve and reject: who. nobody: without a proof of identity'),
  hash: z
    .string(hashText)
    .regex(/^(awaited|first|[0-9a-f]{12})$/, hashText)
    .exactOptional()
    .describe('Of approve and reject: what about. Absent: awaited'),
  reason: z.string('a text').exactOptional().describe('Of approve and reject: why'),
  stopExecution: yes.exactOptional(),
  crash: z.strictObject({ function: oneOf(functionNames), when: oneOf(['before', 'after']) }).exactOptional(),
  karpenter: z
    .strictObject({ stop: duration.exactOptional(), upgradeHashVersion: yes.exactOptional() })
    .exactOptional(),
  removeNode: objectName.exactOptional(),
  nodeNotReady: objectName.exactOptional(),
  interrupt: objectName.exactOptional().describe('A spot interruption of the node'),
  removeClass: objectName.exactOptional().describe('Gone once no NodeClaim uses it'),
  makeClass: z
    .strictObject({ class: objectName, ...nodeClassShape })
    .exactOptional()
    .describe('A class of its own UID, also under a name that there was before'),
  removePool: objectName.exactOptional(),
  editPool: z
    .strictObject({ pool: objectName, class: objectName })
    .exactOptional()
    .describe('The pool comes to refer to another class'),
  register: yes.exactOptional().describe('`rack add` once more'),
});

const knownApis = [...apis, ...apiWildcards] as [string, ...string[]];
const fault = z.strictObject({
  api: z.enum(knownApis, { error: 'an API that the service calls, or a whole service such as kubernetes:*' }),
  error: z
    .string("an error's name")
    .regex(/^[A-Za-z][A-Za-z0-9.]*$/, "an error's name")
    .exactOptional(),
  latency: duration.exactOptional(),
  from: duration.prefault('0s'),
  for: duration.exactOptional().describe('Absent: to the end'),
  share: z
    .number('a share from 0 to 1')
    .min(0, 'a share from 0 to 1')
    .max(1, 'a share from 0 to 1')
    .prefault(1),
});

const modifyBucket = z.strictObject({
  capacity: whole('a whole number from 1', 1).prefault(100),
  refillPerSecond: positive('a number above 0').prefault(5),
  strangers: share.prefault(0).describe('The share of the refill that other callers of the account use up'),
});

const rackText = 'a name of letters, digits, dots, dashes and underscores';

/** The scenario file. */
export const scenarioSchema = z.strictObject({
  name: z.string('a name').min(1, 'a name'),
  rack: z
    .string(rackText)
    .regex(/^[A-Za-z0-9_.-]+$/, rackText)
    .prefault('demo'),
  registered: bool.prefault(true),
  seed: z.int('a whole number').prefault(1),
  startsAt: z.iso.datetime('a time such as 2026-03-02T09:00:00Z').prefault('2026-03-02T09:00:00Z'),
  runFor: duration,
  racks: z
    .record(
      z.string().regex(/^[A-Za-z0-9_.-]+$/, rackText),
      z.strictObject({ pool: objectName }),
      'a mapping of racks to {pool}',
    )
    .prefault({})
    .describe('Other racks that are registered for the same cluster, each with its pool for Builds'),
  parameters: parameters.prefault({}),
  record: recordSchema
    .exactOptional()
    .describe('What the service remembers of the rack; absent: it was never rolled out'),
  classes: z.record(objectName, nodeClass, 'a mapping of classes').prefault({ build: {} }),
  pools: z.record(objectName, pool, 'a mapping of pools').prefault({ build: {} }),
  nodes: z.array(node, 'a list of nodes').prefault([]),
  serviceAccounts: z
    .array(serviceAccount, 'a list of {name, namespace, role, podIdentity}')
    .prefault([])
    .describe('Those with credentials of their own'),
  timeline: z.array(timelineEntry, 'a list of entries').prefault([]),
  faults: z.array(fault, 'a list of faults').prefault([]),
  karpenter: z
    .strictObject({
      launch: duration.prefault('45s'),
      cpu: positive('a number of cpus').prefault(4).describe('Of the nodes that it launches'),
      register: duration.prefault('30s'),
      initialize: duration.prefault('20s'),
      capacity: z
        .string(capacityText)
        .regex(/^(ok|none|after:\d+(s|m|h|d))$/, capacityText)
        .prefault('ok'),
      classReady: z
        .string(`${durationText}, or never`)
        .regex(/^(\d+(s|m|h|d)|never)$/, `${durationText}, or never`)
        .transform((text) => (text === 'never' ? null : milliseconds(text)))
        .prefault('2s'),
      nodeRepair: bool.prefault(false).describe('Karpenter’s feature gate: nodes not Ready for 30m go'),
    })
    .prefault({}),
  ec2: z
    .strictObject({
      modifyBucket: modifyBucket.prefault({}),
      applyDelay: duration.prefault('2s'),
      readStaleness: duration.prefault('0s'),
    })
    .prefault({}),
  clocks: z
    .strictObject({
      cluster: signedClock.prefault('0s').describe('How far the API server’s is ahead; negative: behind'),
    })
    .prefault({}),
  account: z.strictObject({ httpTokensEnforced: bool.prefault(false) }).prefault({}),
  expect: z
    .record(z.string(), z.unknown(), 'a mapping: any subset of the result')
    .exactOptional()
    .describe('Any subset of the result; lists of names compare as sets'),
});
export type WrittenScenario = z.output<typeof scenarioSchema>;
