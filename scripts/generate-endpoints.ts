// Writes the endpoints that functions in a VPC without NAT need into docs/network.md, from the sources:
// test/package/ holds the list against the bundles.
import { generate } from './generated-block.ts';
import { scan } from './permissions/scan.ts';

/** By IAM's prefix: what people call the service, and the last part of its endpoint's name. */
const services: Record<string, { name: string; endpoint: string; kind: 'interface' | 'gateway' }> = {
  cloudwatch: { name: 'CloudWatch', endpoint: 'monitoring', kind: 'interface' },
  ec2: { name: 'EC2', endpoint: 'ec2', kind: 'interface' },
  eks: { name: 'EKS', endpoint: 'eks', kind: 'interface' },
  events: { name: 'EventBridge', endpoint: 'events', kind: 'interface' },
  s3: { name: 'S3', endpoint: 's3', kind: 'gateway' },
  ssm: { name: 'Systems Manager', endpoint: 'ssm', kind: 'interface' },
  states: { name: 'Step Functions', endpoint: 'states', kind: 'interface' },
};

// The others stay outside of any VPC: infra/network.yml.
const inVpc = [...scan()].filter(([, { cluster }]) => cluster !== 'nothing');
const called = new Set(
  inVpc.flatMap(([, { actions }]) => [...actions].map((one) => one.split(':')[0] ?? '')),
);

const rows = [...called].sort().map((prefix) => {
  const service = services[prefix];
  if (service === undefined) throw new Error(`scripts/generate-endpoints.ts does not know ${prefix}`);
  const { name, endpoint, kind } = service;
  return `| ${name} | \`com.amazonaws.<region>.${endpoint}\` | ${kind} |`;
});

await generate([
  {
    file: 'docs/network.md',
    name: 'endpoints',
    text: ['| service | endpoint | type |', '| --- | --- | --- |', ...rows].join('\n'),
  },
]);
