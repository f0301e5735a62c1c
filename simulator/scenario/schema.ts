/**
 * The scenario as people write it (YAML), with every default. `scenario.ts` is what the simulator gets.
 * Each message says what is accepted: load.ts puts file, line, path and value before it.
 */
import { z } from 'zod';
import { recordSchema } from '../../rollout/record.ts';
import { apis, apiWildcards } from './names.ts';
import { node, nodeClass, pool, serviceAccount } from './schema-cluster.ts';
import { timelineEntry } from './schema-timeline.ts';
import {
  bool,
  duration,
  durationText,
  milliseconds,
  objectName,
  parameters,
  positive,
  share,
  signedClock,
  whole,
} from './values.ts';

const capacityText = 'ok, none, after:10m';

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
      metrics: z
        .enum(['sparse', 'zeros', 'none'], 'sparse, zeros or none')
        .prefault('sparse')
        .describe(
          'What CloudWatch has of an instance that rejected no call: CPUUtilization alone, a zero besides, or nothing of anything',
        ),
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
