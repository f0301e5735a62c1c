/** What the template says of everything but roles. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  approveEnvironment,
  parseEnvironment,
  rolloutEnvironment,
} from '../../functions/shared/environment.ts';
import { LONGEST_FUNCTION_MS } from '../../rollout/turn.ts';
import { functionsOf, Template, TEMPLATE_FILE } from './template.ts';

const template = new Template();
const functions = [...functionsOf(template)];

describe.each(functions)('function %s', (name, deployed) => {
  test('runs on Node 24 and arm64', () => {
    expect(deployed).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'] });
  });

  test('outlives its execution by no more than a successor waits', () => {
    expect(deployed.Timeout * 1000).toBeLessThanOrEqual(LONGEST_FUNCTION_MS);
  });

  test('has an environment in which it can run, and knows of tokens only where it handles them', () => {
    const handlesTokens = name === 'approve';
    const schema = handlesTokens ? approveEnvironment : rolloutEnvironment;
    expect(() => parseEnvironment(schema, deployed.Environment.Variables)).not.toThrow();
    expect(deployed.Environment.Variables).toMatchObject({
      PARAMETER_PREFIX: '/racks/',
      RECORD_PREFIX: '/imds-rollout/racks/',
      REPORT_BUCKET: 'reportbucket',
      STATE_MACHINE_ARN: template.output('StateMachineArn'),
    });
    const { TOKEN_PREFIX } = deployed.Environment.Variables;
    expect(TOKEN_PREFIX).toBe(handlesTokens ? '/imds-rollout/approval-tokens/' : undefined);
  });

  test('keeps its logs for some time and not for ever', () => {
    const logs = [...template.ofType('AWS::Logs::LogGroup').values()];
    expect(logs).toContainEqual({
      LogGroupName: `/aws/lambda/${deployed.FunctionName}`,
      RetentionInDays: 90,
    });
  });
});

describe('the workflow', () => {
  const machine = z
    .object({
      Definition: z.object({
        States: z.record(
          z.string(),
          z.object({
            TimeoutSeconds: z.number().optional(),
            Parameters: z.object({ FunctionName: z.string() }).optional(),
          }),
        ),
      }),
      DefinitionSubstitutions: z.record(z.string(), z.string()),
    })
    .parse([...template.ofType('AWS::StepFunctions::StateMachine').values()][0]);
  const placeholder = (name: string): string => `\${${name}}`;
  const tasks = Object.values(machine.Definition.States).filter(({ Parameters }) => Parameters !== undefined);

  test('has a function for each of its placeholders', () => {
    const used = [...new Set(tasks.map(({ Parameters }) => Parameters?.FunctionName))].sort();
    expect(used).toEqual(Object.keys(machine.DefinitionSubstitutions).map(placeholder).sort());
  });

  test('is valid as Step Functions gets it', () => {
    const written = readFileSync('statemachine/rollout.asl.json', 'utf8');
    const filled = Object.entries(machine.DefinitionSubstitutions).reduce(
      (text, [name, value]) => text.replaceAll(placeholder(name), value),
      written,
    );
    expect(filled).not.toContain('${');
    const validation = validate(JSON.parse(filled));
    expect(validation.errorsText('\n')).toBe('');
    expect(validation.isValid).toBe(true);
  });

  test('waits for a function longer than it may run', () => {
    for (const { TimeoutSeconds, Parameters } of tasks) {
      const arn = machine.DefinitionSubstitutions[Parameters?.FunctionName.slice(2, -1) ?? ''];
      const called = functions.find(([, { FunctionName }]) => arn?.endsWith(`:${FunctionName}`));
      expect(TimeoutSeconds).toBeGreaterThan(called?.[1].Timeout ?? Infinity);
    }
  });
});

describe('events', () => {
  const rules = [...template.ofType('AWS::Events::Rule').values()].map((rule) =>
    z
      .object({
        Name: z.string(),
        EventPattern: z.looseObject({ source: z.array(z.string()) }).optional(),
        ScheduleExpression: z.string().optional(),
        Targets: z.array(z.looseObject({ Arn: z.string(), DeadLetterConfig: z.object({ Arn: z.string() }) })),
      })
      .parse(rule),
  );

  test('that cannot be delivered are kept, by a queue that takes them from these rules', () => {
    const [policy] = template.ofType('AWS::SQS::QueuePolicy').values();
    const { PolicyDocument } = z
      .object({ PolicyDocument: z.object({ Statement: z.array(z.record(z.string(), z.unknown())) }) })
      .parse(policy);
    expect(PolicyDocument.Statement).toContainEqual(
      expect.objectContaining({
        Effect: 'Allow',
        Condition: {
          ArnLike: { 'aws:SourceArn': 'arn:aws:events:eu-central-1:123456789012:rule/imds-rollout-*' },
        },
      }),
    );
    expect(rules.length).toBe(5);
    for (const { Name, Targets } of rules) {
      expect(Name).toMatch(/^imds-rollout-/);
      expect(Targets[0]?.DeadLetterConfig.Arn).toMatch(/:DeadLetters$/);
    }
  });

  test('of parameters are those below the prefix, of executions those of this workflow', () => {
    expect(rules.map(({ EventPattern }) => EventPattern)).toEqual(
      expect.arrayContaining([
        {
          source: ['aws.ssm'],
          'detail-type': ['Parameter Store Change'],
          detail: { name: [{ prefix: '/racks/' }], operation: ['Create', 'Update', 'Delete'] },
        },
        {
          source: ['aws.states'],
          'detail-type': ['Step Functions Execution Status Change'],
          detail: {
            stateMachineArn: [template.output('StateMachineArn')],
            status: ['FAILED', 'TIMED_OUT', 'ABORTED'],
          },
        },
      ]),
    );
    expect(rules.map(({ ScheduleExpression }) => ScheduleExpression)).toContain('rate(2 minutes)');
  });
});

test('alarms and dashboard look at metrics that some function publishes', () => {
  const published = new Set(
    globSync('functions/**/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/addMetric\(\s*'(\w+)'/g)].map(([, name = '']) => name),
    ),
  );
  const [dashboard] = template.ofType('AWS::CloudWatch::Dashboard').values();
  const body = String(dashboard?.['DashboardBody']);
  expect(JSON.parse(body)).toHaveProperty('widgets');
  const alarms = [...template.ofType('AWS::CloudWatch::Alarm').values()];
  const named = [
    ...[...body.matchAll(/imds-rollout,service,rack\} MetricName=\\"(\w+)\\"/g)].map(([, name]) => name),
    ...[...body.matchAll(/"imds-rollout", "(\w+)", "service"/g)].map(([, name]) => name),
    ...[...JSON.stringify(alarms).matchAll(/SELECT \w+\((\w+)\)/g)].map(([, name]) => name),
    ...alarms.filter(({ Namespace }) => Namespace === 'imds-rollout').map(({ MetricName }) => MetricName),
  ];
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((name) => !published.has(String(name)))).toEqual([]);
});

test('reports are private, encrypted, versioned, and stay', () => {
  const { Resources } = z
    .object({ Resources: z.record(z.string(), z.looseObject({ DeletionPolicy: z.string().optional() })) })
    .parse(JSON.parse(readFileSync(TEMPLATE_FILE, 'utf8')));
  expect(Resources['ReportBucket']).toMatchObject({
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
  });
  expect(Resources['ReportBucketPolicy']).toMatchObject({ DeletionPolicy: 'Retain' });
  expect(template.ofType('AWS::S3::Bucket').get('ReportBucket')).toMatchObject({
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    VersioningConfiguration: { Status: 'Enabled' },
  });
});

/** cfn-lint in an environment of its own; undefined where there is no Python to make it with, or no way to PyPI. */
function cfnLint(): string | undefined {
  const folder = '.cache/cfn-lint-1.58.0';
  const command = `${folder}/bin/cfn-lint`;
  if (existsSync(command)) return command;
  try {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'ignore' });
    execFileSync(`${folder}/bin/pip`, ['install', '--quiet', 'cfn-lint==1.58.0'], { stdio: 'inherit' });
  } catch {
    return undefined;
  }
  return command;
}

test('cfn-lint has nothing to say', { timeout: 300_000 }, ({ skip }) => {
  const command = cfnLint();
  if (command === undefined) {
    skip('python3 with venv, or PyPI, is not there');
    return;
  }
  // W3005: osls writes DependsOn for a role beside the reference to it.
  const findings = execFileSync(
    command,
    ['--ignore-checks', 'W3005', '--format', 'parseable', TEMPLATE_FILE],
    {
      encoding: 'utf8',
    },
  );
  expect(findings.trim()).toBe('');
});
