/** A plan that explains itself: what `plan --json` prints (schema/plan.schema.json), and what the other forms are made of. */
import { z } from 'zod';
import { agentsSchema } from '../../rollout/agents.ts';
import { planSchema } from '../../rollout/journal.ts';
import { OPTIONS } from '../../rollout/options.ts';
import { parameters, type Key } from '../../rollout/parameters.ts';
import { CALLERS, VERSIONS } from '../../rollout/reach.ts';
import { outcomes } from '../../rollout/record.ts';
import { forecastSchema, noForecastSchema } from '../forecast/schema.ts';

const httpTokens = z.enum(['optional', 'required']);
const optionValue = z.union([httpTokens, z.number()]);
const fates = planSchema.shape.nodes.element.shape.fate;
const key = z.enum(Object.keys(parameters) as [Key, ...Key[]]);

/** One option: what asks for it, and what it becomes. */
const askedOptionSchema = z.strictObject({
  option: z.enum(OPTIONS),
  before: optionValue,
  after: optionValue,
  meaning: z.string().describe('What the values mean, in a sentence'),
  parameter: z
    .strictObject({
      key,
      value: z.string(),
      version: z.number(),
      at: z.string(),
      by: z
        .string()
        .nullable()
        .describe('null where it may not be read, or where Parameter Store does not say'),
      previous: z
        .string()
        .nullable()
        .exactOptional()
        .describe('The version before; null where it is the first, absent where it could not be read'),
    })
    .exactOptional()
    .describe('Absent where no parameter asks any more: the option goes back to what the class said before'),
});
export type AskedOption = z.infer<typeof askedOptionSchema>;

const reachOptions = z.strictObject({
  httpTokens,
  httpPutResponseHopLimit: z.number(),
  httpEndpoint: z.enum(['enabled', 'disabled']).exactOptional(),
});
const reach = z.enum(['yes', 'refused', 'timesOut', 'off']);

/** One table: for the nodes that have these options now. */
const reachTableSchema = z.strictObject({
  nodes: z.array(z.string()).describe('None: the class, and so the nodes that are still to come'),
  before: reachOptions,
  after: reachOptions,
  rows: z.array(
    z.strictObject({ caller: z.enum(CALLERS), version: z.enum(VERSIONS), before: reach, after: reach }),
  ),
});
export type ReachTable = z.infer<typeof reachTableSchema>;

const workloadSchema = z.strictObject({
  kind: z.string(),
  name: z.string().describe('namespace/name'),
  nodes: z.array(z.string()),
  caller: z.enum(CALLERS),
  credentials: z.strictObject({
    from: z.enum(['keys', 'irsa', 'podIdentity', 'node']),
    role: z.string().exactOptional(),
    afterRestart: z.enum(['irsa', 'podIdentity']).nullable().exactOptional(),
  }),
  agent: agentsSchema.element.nullable(),
  mayNest: z.boolean(),
  before: z
    .array(z.enum(VERSIONS))
    .nullable()
    .describe("The versions by which it reaches IMDS; null where its nodes' options are not known"),
  after: z.array(z.enum(VERSIONS)),
  change: z.enum(['gains', 'loses', 'widens', 'narrows', 'swaps', 'keeps', 'has none', 'unknown']),
});

/** What CloudWatch counted on one instance. */
const imdsUseSchema = z.strictObject({
  node: z.string(),
  instanceId: z.string(),
  metric: z.enum(['MetadataNoToken', 'MetadataNoTokenRejected']),
  count: z.number().nullable().describe('null: nothing was measured, which is no zero'),
});
export type ImdsUse = z.infer<typeof imdsUseSchema>;

const riskSchema = z.strictObject({
  kind: z.enum(['loosens', 'leaves', 'breaks', 'interrupts', 'reverts', 'forbidden', 'unknown']),
  text: z.string(),
});
export type Risk = z.infer<typeof riskSchema>;

const outlookSchema = z.strictObject({
  node: z.string(),
  fate: fates,
  builds: z.array(z.string()).describe('The Builds that it is kept for'),
  blockedBy: z.string().nullable().describe('Who has to let go of it first'),
  live: z.enum(['as a canary', 'at once', 'probable', 'if its Builds still run', 'no']),
});

const headroomSchema = z.strictObject({
  limits: z.array(
    z.strictObject({
      resource: z.string(),
      limit: z.string(),
      used: z.string().nullable(),
      free: z.number().nullable(),
    }),
  ),
  budgets: z.array(
    z.strictObject({
      nodes: z.string(),
      atOnce: z.number(),
      reasons: z.array(z.string()),
      when: z.string().nullable(),
    }),
  ),
  replicas: z.number().nullable().describe('Of a static pool'),
});

const unknownSchema = z.strictObject({
  part: z.string().describe('What of the plan is not known'),
  needs: z.string().describe('What it takes to read it'),
  why: z.string(),
});

/** A part is null where it could not be read (`unknowns` says why) or where there is nothing to explain. */
export const explanationSchema = z.strictObject({
  rack: z.string(),
  cluster: z.string().nullable(),
  at: z.string(),
  outcome: z
    .enum([...outcomes, 'Unknown'])
    .nullable()
    .describe('null: a rollout would run. Unknown: what it takes to say so could not be read'),
  reason: z.string().nullable(),
  generation: z.string().nullable(),
  plan: planSchema.nullable(),
  asked: z.array(askedOptionSchema).nullable(),
  reach: z.array(reachTableSchema).nullable(),
  routesOnceMore: z
    .array(z.string())
    .describe('Agents on build nodes behind which pods are one hop further, by name'),
  workloads: z.array(workloadSchema).nullable(),
  evidence: z.strictObject({ days: z.number(), uses: z.array(imdsUseSchema) }).nullable(),
  nodes: z.array(outlookSchema).nullable(),
  singleReplicas: z
    .array(z.strictObject({ kind: z.string(), name: z.string(), node: z.string() }))
    .nullable(),
  headroom: headroomSchema.nullable(),
  policy: z
    .strictObject({
      classWriter: z.enum(['service', 'external']),
      strategy: z.string(),
      deadline: z.number().describe('Seconds'),
      stragglers: z.string(),
      drainTimeout: z.number().describe('Seconds'),
    })
    .nullable(),
  account: z.strictObject({ httpTokensEnforced: z.boolean(), managedBy: z.string().nullable() }).nullable(),
  approval: z
    .strictObject({
      policy: z.string(),
      why: z.string().nullable().describe("null where the change needs nobody's approval"),
      hash: z.string().nullable(),
      command: z.string().nullable(),
    })
    .nullable(),
  risks: z.array(riskSchema),
  wayBack: z
    .array(z.string())
    .nullable()
    .describe('A command and what it comes to; none where nothing changes, null where it is not known'),
  forecast: z
    .union([forecastSchema, noForecastSchema])
    .exactOptional()
    .describe('With --forecast alone; `missing` says why there is none'),
  unknowns: z.array(unknownSchema).readonly(),
});
export type Explanation = z.infer<typeof explanationSchema>;
