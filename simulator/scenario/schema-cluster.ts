/** The cluster of a scenario as people write it: classes, pools, nodes with what runs on them. */
import { z } from 'zod';
import { holdSchema } from '../../rollout/hold.ts';
import {
  bool,
  duration,
  durationOrNever,
  endpoint,
  hopLimit,
  httpTokens,
  labels,
  objectName,
  oneOf,
  optionFields,
  positive,
  signedDuration,
  whole,
} from './values.ts';

export const nodeClassShape = {
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
export const nodeClass = z.strictObject({
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
export const pool = z.strictObject({
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
export const newBuild = z.strictObject(buildShape);
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

export const serviceAccount = z.strictObject({
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
export const node = z.strictObject({
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
