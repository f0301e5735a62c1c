/** The data of well-known agents: its form, its sources, and who is taken for whom. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { agentOf, agentsSchema } from '../../rollout/agents.ts';

const agents = agentsSchema.parse(JSON.parse(readFileSync('rollout/agents.json', 'utf8')));

describe('the data', () => {
  it('names each agent once, each with sources', () => {
    const names = agents.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { sources } of agents) expect(new Set(sources).size).toBe(sources.length);
  });

  it.each([
    ['a source that is no address', { sources: ['the docs'] }],
    ['no source', { sources: [] }],
    ['a path that is none of IMDS', { reads: ['/etc/passwd'] }],
    ['a word that nobody knows', { hops: 3 }],
  ])('is refused with %s', (_what, change) => {
    expect(agentsSchema.safeParse([{ ...agents[0], ...change }]).success).toBe(false);
  });
});

describe('an agent', () => {
  it.each([
    ['castai-spot-handler', 'us-docker.pkg.dev/castai-hub/library/spot-handler:v1', 'CAST AI spot handler'],
    ['nth', 'public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.2', 'AWS Node Termination Handler'],
    ['ebs-csi-node', 'public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.44.0', 'EBS CSI driver'],
    ['anet', '602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.19.0', 'Amazon VPC CNI'],
    ['cilium', 'quay.io/cilium/cilium:v1.17.0', 'Cilium'],
    ['dd', 'gcr.io/datadoghq/agent:7.64.0', 'Datadog Agent'],
    ['runner', 'docker:dind', 'Docker in Docker'],
  ])('%s is known by its image', (name, image, expected) => {
    expect(agentOf({ name, images: ['example.com/sidecar:1', image] })?.name).toBe(expected);
  });

  it('is known by its name where its image is somebody’s own', () => {
    expect(agentOf({ name: 'cloudwatch-agent', images: ['registry.example.com/ours:1'] })?.name).toBe(
      'CloudWatch agent',
    );
    expect(agentOf({ name: 'web', images: ['registry.example.com/web:1'] })).toBeUndefined();
  });
});
