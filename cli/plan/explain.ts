/** Reads what a plan is explained by, part by part: one that may not be read leaves the others as they are. */
import { approveCommand } from '../../rollout/approval.ts';
import type { Fleet } from '../../rollout/fleet.ts';
import { headroomOf } from '../../rollout/headroom.ts';
import type { Plan } from '../../rollout/journal.ts';
import { classOptions } from '../../rollout/options.ts';
import { outlooks } from '../../rollout/outlook.ts';
import { describePlan, propose, type Proposal } from '../../rollout/plan.ts';
import type { PlanReads, SharedPorts } from '../../rollout/ports.ts';
import { needsApproval } from '../../rollout/purpose.ts';
import type { Runs } from '../forecast/runs.ts';
import { goesOn } from '../forecast/from-live.ts';
import { readRackFor } from '../forecast/read.ts';
import { askedOptions, wayBack } from './asked.ts';
import type { Explanation } from './explanation.ts';
import { imdsUse } from './evidence.ts';
import { lookOnce, type Look } from './one-look.ts';
import { afterwards, reachTables } from './reachable.ts';
import { risksOf } from './risks.ts';
import { readSingleReplicas, readWorkloads } from './running.ts';
import { see, type Seen } from './seen.ts';

export interface ExplainInput {
  rack: string;
  ports: SharedPorts;
  reads: PlanReads;
  /** How far back CloudWatch is asked. */
  days: number;
  /** How often a forecast plays what may come; without, there is none. */
  forecast?: Runs;
}

/** Reads only. Throws what is neither a missing permission nor a neighbour out of reach. */
export async function explainPlan({
  rack,
  ports,
  reads,
  days,
  forecast,
}: ExplainInput): Promise<Explanation> {
  const look = lookOnce(ports, reads);
  const proposal = await look.attempt('what a rollout would do', 'everything that a rollout reads', () =>
    propose(look.ports, rack),
  );
  const isRefusal = proposal?.kind === 'end';
  const base: Explanation = {
    ...nothing(rack, ports.clock.now()),
    outcome: proposal === null ? 'Unknown' : isRefusal ? proposal.outcome : null,
    reason: proposal === null ? (look.unknowns[0]?.why ?? null) : proposal.reason,
    generation: proposal?.purpose?.generation ?? null,
    unknowns: look.unknowns,
  };
  const seen = await see(look, rack);
  if (seen === undefined) return withForecast(base, look, forecast);
  const details = await explainSeen(look, seen, days);
  const explained: Explanation = { ...base, ...details, ...asksSomebody(proposal, rack, details) };
  return withForecast({ ...explained, risks: risksOf(explained) }, look, forecast);
}

/** Everything is read before anything is played. */
async function withForecast(
  explained: Explanation,
  look: Look,
  runs: Runs | undefined,
): Promise<Explanation> {
  if (runs === undefined) return explained;
  const read = await readRackFor(look, explained.rack);
  if ('missing' in read) return { ...explained, forecast: read };
  if (!goesOn(read.live)) {
    const { outcome, reason } = explained;
    return {
      ...explained,
      forecast: { missing: `no rollout would run (${outcome ?? ''}: ${reason ?? ''})` },
    };
  }
  // It brings the simulator and all functions, which nobody else who plans needs.
  const { forecastOf } = await import('../forecast/forecast.ts');
  const { playInThreads } = await import('../forecast/threads.ts');
  return { ...explained, forecast: await forecastOf(read, runs, playInThreads) };
}

/** What a rollout would ask a person, as it would ask it: what was approved before needs nobody again. */
function asksSomebody(
  proposal: Proposal | null,
  rack: string,
  { approval }: Partial<Explanation>,
): Partial<Explanation> {
  if (proposal?.kind !== 'roll' || approval === null || approval === undefined) return {};
  const { question } = proposal;
  const why = question?.why ?? null;
  const hash = question?.hash ?? null;
  return { approval: { ...approval, why, hash, command: hash === null ? null : approveCommand(rack, hash) } };
}

async function explainSeen(look: Look, seen: Seen, days: number): Promise<Partial<Explanation>> {
  const { asks, ground, purpose, fleet, registration } = seen;
  const { policy } = asks;
  const now = classOptions(ground.nodeClass);
  const live = fleet?.nodes.flatMap(({ instance }) => instance?.metadataOptions ?? []) ?? [];
  const plan = fleet === null ? null : await describeSeen(look, { ...seen, fleet });
  const after = afterwards(seen, plan);
  const [asked, account, workloads, singles, uses] = await Promise.all([
    askedOptions(look, seen),
    look.attempt('what the account allows', 'ec2:GetInstanceMetadataDefaults', () =>
      look.ports.instances.accountDefaults(),
    ),
    fleet === null ? null : readWorkloads(look, { ...seen, fleet }, after),
    plan === null || fleet === null ? null : readSingleReplicas(look, seen, fleet, plan),
    fleet === null ? null : imdsUse(look, fleet, days),
  ]);
  return {
    cluster: registration.cluster,
    plan,
    asked,
    reach: reachTables(seen, after),
    routesOnceMore: [
      ...new Set((workloads ?? []).flatMap(({ agent }) => (agent?.routesOnceMore ? [agent.name] : []))),
    ],
    workloads,
    evidence: uses && { days, uses },
    nodes: plan && outlooks(plan, policy),
    singleReplicas: singles,
    headroom: fleet && headroomOf(ground.pool, fleet.nodes.filter(({ claim }) => claim).length),
    policy: {
      classWriter: policy.classWriter,
      strategy: policy.strategy,
      deadline: policy.deadline,
      stragglers: policy.stragglers,
      drainTimeout: policy.drainTimeout,
    },
    account: account && {
      httpTokensEnforced: account.httpTokensEnforced,
      managedBy: account.managedBy ?? null,
    },
    approval: {
      policy: policy.approval,
      why: needsApproval(policy, [now, ...live], purpose.target, now) ?? null,
      hash: null,
      command: null,
    },
    wayBack: await wayBack(look, seen),
  };
}

/** What blocks nodes takes more rights than the nodes themselves: without them it is unknown, and the rest stands. */
async function describeSeen(look: Look, seen: Seen & { fleet: Fleet }): Promise<Plan> {
  const { cluster } = seen.ground;
  const reading = {
    ...cluster,
    list: async <K extends Parameters<typeof cluster.list>[0]>(kind: K) =>
      (await look.list(`what blocks nodes (${kind})`, cluster, kind)) ?? [],
  };
  return describePlan(look.ports, { ...seen, ground: { ...seen.ground, cluster: reading } });
}

const nothing = (rack: string, at: Date): Explanation => ({
  rack,
  cluster: null,
  at: at.toISOString(),
  outcome: null,
  reason: null,
  generation: null,
  plan: null,
  asked: null,
  reach: null,
  routesOnceMore: [],
  workloads: null,
  evidence: null,
  nodes: null,
  singleReplicas: null,
  headroom: null,
  policy: null,
  account: null,
  approval: null,
  risks: [],
  wayBack: null,
  unknowns: [],
});
