/** What `status` and `watch` see of an account. */
import { GetExecutionHistoryCommand, SFNClient } from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { describe, expect, it } from 'vitest';
import { createProgress } from '../../cli/account/progress.ts';
import { sceneNow } from '../../cli/account/scene-now.ts';
import { changes, sceneText } from '../../cli/view/scene-text.ts';
import { startKubeServer } from './kube-server.ts';
import { deploymentOf, handsOn, newAccount, NOW } from './registered.ts';

const HELD = {
  'imds-rollout/hold': JSON.stringify({
    rollout: 'demo-1',
    before: { doNotDisrupt: null, unschedulable: false },
  }),
  'karpenter.sh/do-not-disrupt': 'true',
};

describe('what a node waits for', () => {
  const karpenterSays = (message: string) => ({
    items: [
      {
        metadata: { name: 'blocked', namespace: 'default' },
        reason: 'DisruptionBlocked',
        message,
        involvedObject: { kind: 'Node', name: 'idle' },
        lastTimestamp: NOW.toISOString(),
      },
    ],
  });
  const ANNOTATED = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation';
  const cordoned = { spec: { unschedulable: true } };

  it.each([
    ['our hold, in the place of what Karpenter says of it', HELD, ANNOTATED, 'its hold to be lifted'],
    ['what else Karpenter says', HELD, 'Pdb prevents pod evictions', 'Karpenter: Pdb prevents pod evictions'],
    [
      'an annotation that is not ours',
      { 'karpenter.sh/do-not-disrupt': 'true' },
      ANNOTATED,
      `Karpenter: ${ANNOTATED}`,
    ],
  ])('is %s', async (_what, annotations, message, waits) => {
    await using kube = await startKubeServer();
    const hands = handsOn(kube.api);
    await hands.addClass('build', { httpTokens: 'required', httpPutResponseHopLimit: 1 });
    await hands.addPool('build', 'build');
    await hands.addNode('idle', 'build', annotations);
    for (const [path, body] of [
      ['/api/v1/nodes/idle', { ...cordoned, status: { conditions: [{ type: 'Ready', status: 'True' }] } }],
      [
        '/apis/karpenter.sh/v1/nodeclaims/idle-claim/status',
        { status: { conditions: [{ type: 'Drifted', status: 'True' }] } },
      ],
    ] as const) {
      const contentType = 'application/merge-patch+json';
      await kube.api({ verb: 'patch', resource: path, method: 'PATCH', path, contentType, body });
    }
    kube.instead.answer = ({ path }) =>
      path === '/api/v1/events' ? { body: karpenterSays(message) } : undefined;
    const account = newAccount();
    account.registrations = [{ rack: 'demo', cluster: 'demo', nodePool: 'build' }];
    const text = sceneText(await sceneNow(deploymentOf(account, kube.api), 'demo'), 'rack demo');
    expect(/^idle .*$/m.exec(text)?.[0]).toMatch(new RegExp(`${waits}$`));
  });
});

describe('the scene of an account', () => {
  it('has the class, each build node with its hold and Builds, and where the execution is', async () => {
    await using kube = await startKubeServer();
    const hands = handsOn(kube.api);
    await hands.addClass('build', { httpTokens: 'required', httpPutResponseHopLimit: 1 });
    await hands.addPool('build', 'build');
    await hands.addNode('busy', 'build', HELD);
    await hands.addNode('else', 'workload');
    await hands.addPod('b-1', 'busy');
    const account = newAccount();
    account.registrations = [{ rack: 'demo', cluster: 'demo', nodePool: 'build' }];
    account.executions = [{ name: 'demo-1', startedAt: NOW.toISOString(), status: 'RUNNING' }];
    account.instances = [
      {
        instanceId: `i-${Buffer.from('busy').toString('hex')}`,
        state: 'running',
        launchTime: NOW.toISOString(),
        tags: {},
        metadataOptions: {
          state: 'applied',
          httpTokens: 'optional',
          httpPutResponseHopLimit: 3,
          httpEndpoint: 'enabled',
        },
      },
    ];
    const scene = await sceneNow(deploymentOf(account, kube.api), 'demo');
    expect(scene).toMatchObject({
      className: 'build',
      others: 1,
      workflow: { execution: 'demo-1', status: 'RUNNING', state: 'Wait', waitsFor: 'b-1' },
      nodes: [{ name: 'busy', protected: true, cordoned: false, builds: ['default/b-1'] }],
    });
    const text = sceneText(scene, 'rack demo');
    expect(text).toMatch(/^rack demo {2}2026-03-02T09:00:00.000Z$/m);
    expect(text).toMatch(/^busy +optional\/3 +not ready +protected +default\/b-1/m);
    expect(text).not.toContain('Ended');
    expect(changes(undefined, scene)).toContain('09:00:00   class build: required/1');
  });

  it('names a rack that is not registered', async () => {
    await using kube = await startKubeServer();
    await expect(sceneNow(deploymentOf(newAccount(), kube.api), 'demo')).rejects.toThrow(
      /^rack demo is not registered .*\nRegister it: imds-rollout rack add demo /,
    );
  });
});

describe('the place of an execution', () => {
  const client = new SFNClient({ region: 'eu-west-1' });
  const mock = mockClient(client);
  const arn = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
  const event = { timestamp: NOW, id: 1 };

  it('is the last state entered, and what the last step said that it waits for', async () => {
    const output = JSON.stringify({ next: 'look', waitsFor: 'Builds on 2 nodes' });
    mock.on(GetExecutionHistoryCommand).resolves({
      events: [
        { ...event, type: 'WaitStateEntered', stateEnteredEventDetails: { name: 'Wait' } },
        { ...event, type: 'ChoiceStateExited', stateExitedEventDetails: { name: 'What', output: '{"cut' } },
        { ...event, type: 'TaskStateExited', stateExitedEventDetails: { name: 'Observe', output } },
      ],
    });
    expect(await createProgress(client, arn).of('demo-1')).toEqual({
      state: 'Wait',
      waitsFor: 'Builds on 2 nodes',
    });
    expect(mock).toHaveReceivedCommandWith(GetExecutionHistoryCommand, {
      executionArn: 'arn:aws:states:eu-west-1:123456789012:execution:imds-rollout:demo-1',
      reverseOrder: true,
      maxResults: 60,
    });
  });
});
