/** A rack of an account is read into a scenario and played: the command, over the wire, and nothing written on the way. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { loadScenario } from '../../simulator/scenario/load.ts';
import { run } from './command-in.ts';
import { temporaryFolder } from './command.ts';
import { startKubeServer, type KubeServer } from './kube-server.ts';
import { LocalAccount } from './local-account.ts';
import { handsOn } from './registered.ts';

vi.setConfig({ testTimeout: 120_000 });

const LONG_AGO = '2026-03-02T09:00:00Z';
const asked = {
  imds_http_tokens: 'optional',
  karpenter_enabled: 'true',
  build_node_enabled: 'true',
  karpenter_build_imds_tokens: 'required',
  karpenter_build_imds_hop_limit: '1',
};

const instanceOf = (node: string): string => `i-${Buffer.from(node).toString('hex')}`;

const instanceXml = (node: string): string =>
  `<item><instanceId>${instanceOf(node)}</instanceId><instanceState><code>16</code><name>running</name></instanceState><launchTime>${LONG_AGO}</launchTime><metadataOptions><state>applied</state><httpTokens>optional</httpTokens><httpPutResponseHopLimit>2</httpPutResponseHopLimit><httpEndpoint>enabled</httpEndpoint></metadataOptions></item>`;

const instancesXml = (nodes: readonly string[]): string =>
  `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet>${nodes.map(instanceXml).join('')}</instancesSet></item></reservationSet></DescribeInstancesResponse>`;

const DEFAULTS_XML =
  '<GetInstanceMetadataDefaultsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><accountLevel></accountLevel></GetInstanceMetadataDefaultsResponse>';

/** An account with a registered rack in the cluster. */
async function accountOf(kube: KubeServer, nodes: readonly string[]): Promise<LocalAccount> {
  const account = await LocalAccount.open();
  account.stored.set(
    '/imds-rollout/racks/demo/registration',
    JSON.stringify({ rack: 'demo', cluster: 'demo', nodePool: 'agents' }),
  );
  account.besides = (target, body) => {
    if (body.includes('Action=DescribeInstances')) return instancesXml(nodes);
    if (body.includes('Action=GetInstanceMetadataDefaults')) return DEFAULTS_XML;
    if (target === '/clusters/demo') {
      const { certificateAuthority: data, server } = kube;
      return { cluster: { name: 'demo', endpoint: server.endpoint, certificateAuthority: { data } } };
    }
    if (target === 'AWSStepFunctions.ListExecutions') return { executions: [] };
    if (target !== 'AmazonSSM.GetParametersByPath' || !body.includes('"/racks/demo"')) return undefined;
    return {
      Parameters: Object.entries(asked).map(([key, Value]) => ({
        ...{ Name: `/racks/demo/${key}`, Value, Type: 'String', Version: 1, LastModifiedDate: 1_772_442_000 },
      })),
    };
  };
  return account;
}

/** Pool and class are named otherwise than a scenario's; one node builds. */
async function clusterOf(kube: KubeServer): Promise<void> {
  const hands = handsOn(kube.api);
  await hands.addClass('agents', { httpTokens: 'optional', httpPutResponseHopLimit: 2 });
  await hands.addPool('agents', 'agents');
  for (const node of ['idle', 'busy']) await hands.addNode(node, 'agents');
  await hands.addPod('b-1', 'busy');
  for (const object of kube.objects.values()) Object.assign(object.metadata, { creationTimestamp: LONG_AGO });
  const startTime = new Date(Date.now() - 5 * 60_000).toISOString();
  const pod = kube.objects.get('/api/v1/namespaces/default/pods/b-1');
  Object.assign(pod ?? {}, { status: { phase: 'Running', startTime } });
}

it('reads, writes the file, and plays it', async () => {
  await using kube = await startKubeServer();
  await clusterOf(kube);
  await using account = await accountOf(kube, ['idle', 'busy']);
  kube.server.asked.length = 0;
  const file = join(temporaryFolder(), 'live.yaml');
  const { status, stdout, stderr } = await run(account, 'simulate', '--from-live', file, '--json');
  expect(stderr).toMatch(new RegExp(`^written to ${file}\n`));
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'Succeeded', violations: [] });
  const scenario = loadScenario(readFileSync(file, 'utf8'), file);
  expect(scenario.pools).toMatchObject({ build: { class: 'agents' } });
  expect(scenario.classes).toMatchObject({ agents: { httpTokens: 'optional', httpPutResponseHopLimit: 2 } });
  expect(scenario.parameters).toMatchObject({ karpenter_build_imds_tokens: { value: 'required' } });
  const [one, other] = scenario.nodes.toSorted((a, b) => a.name.localeCompare(b.name));
  expect(one).toMatchObject({ name: 'busy', httpTokens: 'optional', builds: [{ name: 'b-1' }] });
  expect(Math.round((one?.builds[0]?.startsAt ?? 0) / 60_000)).toBe(-5);
  expect(other).toMatchObject({ name: 'idle', builds: [] });
  expect(new Set(kube.server.asked.map(({ method }) => method))).toEqual(new Set(['GET']));
  expect(account.calls.filter((call) => !/^\/$|^\/clusters\/demo$|\.(Get|Describe|List)/.test(call))).toEqual(
    [],
  );
  expect(account.notices).toEqual([]);
});
