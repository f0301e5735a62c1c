/** `plan` explains itself: who gains and loses what, by name, what it does not know, and that it writes nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { playToMoment } from '../../cli/moment.ts';
import { explainPlan } from '../../cli/plan/explain.ts';
import type { Explanation } from '../../cli/plan/explanation.ts';
import { terminalText } from '../../cli/view/document.ts';
import { planDocument } from '../../cli/view/plan.ts';
import { command, scenarioFile, temporaryFolder, type Ended } from './command.ts';

const example = readFileSync('docs/examples/explained.yaml', 'utf8');
const up = scenarioFile(example);
/** The other way: what a pod could reach at 2 it cannot at 1. */
const tightening = example
  .replace("imds_http_hop_limit: '1'", "imds_http_hop_limit: '2'")
  .replace('httpPutResponseHopLimit: 1', 'httpPutResponseHopLimit: 2')
  .replace("karpenter_build_imds_hop_limit: '2'", "karpenter_build_imds_hop_limit: '1'");
const down = scenarioFile(tightening);
const failing = (...faults: { api: string; error: string }[]): string =>
  scenarioFile(`${tightening}faults: ${JSON.stringify(faults)}\n`);

const plan = (file: string, ...args: string[]): Ended =>
  command(['plan', '--scenario', file, '--at', '80s', ...args]);

/** The same without a process of its own. */
async function explain(scenario: string): Promise<Explanation> {
  const { rack, world } = await playToMoment({ scenario, at: '80s' });
  return explainPlan({ rack, ports: world.account.ports, reads: world.planReads, days: 14 });
}

const change = ({ workloads }: Explanation, name: string): unknown =>
  workloads?.find((each) => each.name === name)?.change;

const SPOT = 'castai-agent/castai-spot-handler';

describe('a hop limit from 1 to 2', () => {
  const { status, stdout, stderr } = plan(up);

  it('is flagged as loosening, with what the policy asks and what to type, and ends with 2', () => {
    expect(status).toBe(2);
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^Once a rollout waits for it: imds-rollout approve -r demo --hash [0-9a-f]{12} /m,
    );
    expect(stdout).toContain('Looser: httpPutResponseHopLimit 1 → 2\n');
    expect(stdout).toContain(
      'Approval: a person has to approve this, since it loosens httpPutResponseHopLimit (imds_rollout_approval is "loosening")\n',
    );
    expect(stdout).toMatch(/^- loosens: The change loosens httpPutResponseHopLimit 1 → 2\. Any pod /m);
  });

  it('says by which parameter, version, when and by whom', () => {
    expect(stdout).toMatch(
      /^httpPutResponseHopLimit +1 → 2 +karpenter_build_imds_hop_limit=2 +1 +2026-03-02T09:00:10\.000Z +arn:aws:iam::\d+:user\/platform-engineer$/m,
    );
  });

  it('has the table of who reaches IMDS', () => {
    expect(stdout).toContain('build-a, build-b: required/1 → required/2\n');
    expect(stdout).toMatch(/^pod +no, 401 +no, 401 +no, time-out +yes$/m);
    expect(stdout).toMatch(/^nested container +no, 401 +no, 401 +no, time-out +no, time-out$/m);
  });

  it('names the spot handler as gaining access, and why it wants it', () => {
    expect(stdout).toMatch(
      new RegExp(`^DaemonSet ${SPOT} +pod +none +IMDSv2 +gains +the node's role +build-a, build-b$`, 'm'),
    );
    expect(stdout).toMatch(
      new RegExp(
        `^DaemonSet ${SPOT} gains access to IMDS\\. It is CAST AI spot handler:\n- it watches for`,
        'm',
      ),
    );
    expect(stdout).toContain('/latest/meta-data/spot/instance-action');
    expect(stdout).toContain('https://docs.cast.ai/docs/spot-handler');
    expect(stdout).toMatch(/^- loosens: Without credentials of their own, .*DaemonSet castai-agent/m);
  });

  it('knows who has credentials of its own', () => {
    expect(stdout).toMatch(
      /^DaemonSet kube-system\/ebs-csi-node +pod +none +IMDSv2 +gains +IRSA \(arn:aws:iam::123456789012:role\/ebs-csi\)/m,
    );
  });

  it('names the single replica, and what becomes of each node', () => {
    expect(stdout).toContain(
      'Away for a moment, having a single replica: Deployment tools/build-cache on build-b\n',
    );
    expect(stdout).toMatch(
      /^build-a +required\/1 +wrong +builds\/b-long +kept until its Builds end +if a Build still runs 1h after the patch$/m,
    );
    expect(stdout).toMatch(/^build-b +required\/1 +wrong +replaced by Karpenter +no$/m);
    expect(stdout).toContain('- limit of cpu: 8 of 32 used, 24 free\n');
  });

  it('says what was not measured, which is no zero', () => {
    expect(stdout).toMatch(/^build-a +i-\S+ +refused 3 times \(tokens are required already\)$/m);
    expect(stdout).toMatch(/^build-b +i-\S+ +not measured \(tokens are required already\)$/m);
  });

  it('says the way back', () => {
    expect(stdout).toContain('  $ imds-rollout params set karpenter_build_imds_hop_limit= -r demo\n');
    expect(stdout).toContain(
      'The build nodes then get httpTokens=required, httpPutResponseHopLimit=1, by a rollout like this one',
    );
  });
});

describe('a hop limit from 2 to 1', () => {
  it('names the spot handler as losing access, and ends with 2', () => {
    const { status, stdout, stderr } = plan(down);
    expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(`^DaemonSet ${SPOT} +pod +IMDSv2 +none +loses +the node's role +build-a, build-b$`, 'm'),
    );
    expect(stdout).toMatch(
      new RegExp(`^- breaks: DaemonSet ${SPOT} loses IMDS, .*: it sees no interruption notice; `, 'm'),
    );
    expect(stdout).not.toContain('Looser');
    expect(stdout).toContain('The way back loosens httpPutResponseHopLimit 1 → 2.\n');
  });

  it('takes nothing from pods while tokens are optional, nor from the host', async () => {
    const optional = scenarioFile(
      tightening
        .replaceAll('required', 'optional')
        .replace('owner: ebs-csi-node,', 'owner: ebs-csi-node, hostNetwork: true,'),
    );
    const explained = await explain(optional);
    expect(change(explained, SPOT)).toBe('narrows');
    expect(explained.workloads?.find(({ name }) => name === SPOT)?.after).toEqual(['IMDSv1']);
    expect(change(explained, 'kube-system/ebs-csi-node')).toBe('keeps');
  });
});

describe('a read that is forbidden', () => {
  /** What is not known then; what must be said all the same. */
  it.each<[string, string, string, RegExp]>([
    ['ssm:GetParameterHistory', 'who wrote the parameters', 'ssm:GetParameterHistory', /^pod /m],
    [
      'ec2:DescribeInstances',
      "the instances' own options",
      'ec2:DescribeInstances',
      /^The class, and so nodes to come: /m,
    ],
    [
      'ec2:GetInstanceMetadataDefaults',
      'what the account allows',
      'ec2:GetInstanceMetadataDefaults',
      /gains|loses/,
    ],
    ['cloudwatch:GetMetricData', 'whether IMDSv1 is used', 'cloudwatch:GetMetricData', /^- breaks: /m],
    [
      'eks:ListPodIdentityAssociations',
      'who gets credentials from EKS Pod Identity',
      'eks:ListPodIdentityAssociations',
      /the node's role; its own after a restart: not known/,
    ],
    ['kubernetes:list Pod', 'the build nodes and what runs on them', 'list of NodePools', /^What is asked$/m],
    [
      'kubernetes:list ReplicaSet',
      'which Deployment a pod belongs to',
      'list ReplicaSet',
      /^DaemonSet .* loses /m,
    ],
    ['kubernetes:list StatefulSet', 'which StatefulSet', 'list StatefulSet', /^DaemonSet .* loses /m],
    [
      'kubernetes:list DaemonSet',
      'DaemonSets whose pods are still to come',
      'list DaemonSet',
      /^build-b .* replaced/m,
    ],
    [
      'kubernetes:list ServiceAccount',
      'whether a service account names a role',
      'list ServiceAccount',
      /IRSA \(arn/,
    ],
    [
      'kubernetes:list PodDisruptionBudget',
      'what blocks nodes',
      'list PodDisruptionBudget',
      /^build-b .* replaced/m,
    ],
  ])('%s leaves that part unknown, by its permission', async (api, part, needs, said) => {
    const explained = await explain(failing({ api, error: 'AccessDenied' }));
    const text = terminalText(planDocument(explained));
    // Without what a rollout itself reads nobody can say what it would do.
    const isNeeded = ['ec2:DescribeInstances', 'kubernetes:list Pod'].includes(api);
    expect(explained.outcome).toBe(isNeeded ? 'Unknown' : null);
    const unknown = explained.unknowns.find((each) => each.part.startsWith(part));
    expect(unknown?.needs).toContain(needs);
    expect(unknown?.why).toContain(`AccessDenied: ${api}`);
    expect(text).toMatch(/^Not known$/m);
    expect(text).toContain(unknown?.why);
    expect(text).toMatch(said);
    expect(text).toMatch(/^- unknown: Not known: /m);
  });

  it('ends with 1 where nobody can say what a rollout would do, and says the rest', () => {
    const { status, stdout, stderr } = plan(failing({ api: 'ec2:DescribeInstances', error: 'AccessDenied' }));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Unknown: AccessDenied: ec2:DescribeInstances/);
    expect(stdout).toMatch(/^Who can reach IMDS$/m);
  });

  it('guesses nothing: what depends on it is left out or said to be unknown', async () => {
    const instances = await explain(
      failing({ api: 'ec2:DescribeInstances', error: 'UnauthorizedOperation' }),
    );
    expect(instances.outcome).toBe('Unknown');
    expect(instances.workloads?.map(({ change: is }) => is)).toEqual(
      instances.workloads?.map(() => 'unknown'),
    );
    expect(instances.nodes?.map(({ fate }) => fate)).toEqual(['unknown', 'unknown']);
    expect(instances.evidence?.uses).toEqual([]);

    const pods = await explain(failing({ api: 'kubernetes:list Pod', error: 'Forbidden' }));
    expect(pods).toMatchObject({ nodes: null, workloads: null, singleReplicas: null, evidence: null });
    expect(pods.asked).toHaveLength(2);

    const history = await explain(
      failing({ api: 'ssm:GetParameterHistory', error: 'AccessDeniedException' }),
    );
    expect(history.asked?.map(({ parameter }) => parameter?.by)).toEqual([null, null]);
    expect(history.wayBack).toBeNull();

    const replicas = await explain(failing({ api: 'kubernetes:list StatefulSet', error: 'Forbidden' }));
    expect(replicas.singleReplicas).toBeNull();
  });

  it('says that what it does not know is not why nothing is said', () => {
    const { status, stdout, stderr } = plan(
      failing({ api: 'ssm:GetParametersByPath', error: 'AccessDenied' }),
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^Unknown: AccessDenied: ssm:GetParametersByPath/);
  });
});

describe('for a ticket', () => {
  it('is printed as Markdown, where no name becomes markup', () => {
    const { stdout } = plan(down, '--markdown');
    expect(stdout).toMatch(/^# demo: the class says /);
    expect(stdout).toContain('\n## Who can reach IMDS\n');
    expect(stdout).toContain('| pod | no, 401 | no, 401 | yes | no, time-out |');
    expect(stdout).toContain('karpenter\\_build\\_imds\\_hop\\_limit=1');
  });

  it('is written as a page of one file', () => {
    const page = join(temporaryFolder(), 'plan.html');
    const { status, stderr } = plan(down, '--html', page);
    expect({ status, stderr }).toEqual({ status: 2, stderr: `written to ${page}\n` });
    const text = readFileSync(page, 'utf8');
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).toContain(`DaemonSet ${SPOT} loses access to IMDS`);
    expect(text).not.toMatch(/<(script|link|img)/);
  });

  it('says what cannot be', () => {
    expect(plan(down, '--days', '64').stderr).toBe(
      '--days "64" is not accepted; accepted: a whole number from 1 to 63, as long as CloudWatch keeps what EC2 counts\n',
    );
    expect(plan(down, '--json', '--markdown').stderr).toBe(
      '--json and --markdown both print: give one of the two\n',
    );
    expect(plan(down, '--html', '/nowhere/plan.html').stderr).toMatch(
      /^cannot write \/nowhere\/plan\.html: /,
    );
  });
});

it.each([
  ['loosening', up],
  ['tightening', down],
])('writes nothing while %s: every call on record is a read', async (_what, scenario) => {
  const { rack, world } = await playToMoment({ scenario, at: '80s' });
  const before = world.audit.length;
  await explainPlan({ rack, ports: world.account.ports, reads: world.planReads, days: 14 });
  const calls = world.audit.slice(before);
  expect(calls.filter(({ write }) => write)).toEqual([]);
  const apis = calls.map(({ api, target }) => `${api} ${target ?? ''}`);
  expect(apis).toContain('cloudwatch:GetMetricData MetadataNoTokenRejected');
  expect(apis).toContain('ssm:GetParameterHistory /racks/demo/karpenter_build_imds_hop_limit');
  // One look: nothing is read twice, so that all of it is about the same moment.
  expect(apis.toSorted()).toEqual([...new Set(apis)].toSorted());
});
