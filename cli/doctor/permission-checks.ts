/** Whether IAM lets each function do what its code calls. */
import { readFileSync } from 'node:fs';
import pMap from 'p-map';
import { z } from 'zod';
import { ForbiddenError } from '../../rollout/errors.ts';
import type { Outputs } from '../account/outputs.ts';
import type { Refused, Wanted } from '../account/permissions.ts';
import type { Deployment } from '../deployment.ts';
import { check, ok, problem, unknown, type Check, type Finding } from './check.ts';

/** IAM takes few of these questions a second. */
const AT_ONCE = 3;

/** The actions of each function, as scripts/generate-permissions.ts reads them from the sources. */
export const actionsByFunction = (): Map<string, string[]> =>
  new Map(
    Object.entries(
      z
        .record(z.string(), z.array(z.string()))
        .parse(JSON.parse(readFileSync(new URL('../../infra/permissions.json', import.meta.url), 'utf8'))),
    ),
  );

type On = Omit<Wanted, 'actions'>;

/** On what each action is needed, for some rack, cluster and execution: docs/permissions.md has the list. */
function resourcesOf(outputs: Outputs, name: string): (action: string) => On[] {
  const { StateMachineArn, ReportBucket, ParameterPrefix, RecordPrefix, Clusters } = outputs;
  const [, partition = 'aws', , region = '', account = '', , machine = ''] = StateMachineArn.split(':');
  const arn = (service: string, rest: string): string =>
    `arn:${partition}:${service}:${region}:${account}:${rest}`;
  const [first = '*'] = Clusters;
  const cluster = first.replaceAll('*', 'any');
  const bucket = `arn:${partition}:s3:::${ReportBucket}`;
  const on = (resource: string, context: On['context'] = {}): On => ({ resource, context });
  const memory = (what: string): On => on(arn('ssm', `parameter${RecordPrefix}any/${what}`));
  const record = memory('record');
  const workflow = on(StateMachineArn);
  const known: Record<string, On[]> = {
    'cloudwatch:GetMetricData': [on('*')],
    'ec2:DescribeInstances': [on('*')],
    'ec2:GetInstanceMetadataDefaults': [on('*')],
    'ec2:ModifyInstanceMetadataOptions': [
      on(arn('ec2', 'instance/i-00000000000000000'), {
        'aws:ResourceTag/eks:eks-cluster-name': cluster,
        'aws:ResourceTag/karpenter.sh/nodepool': 'build',
      }),
    ],
    'eks:DescribeCluster': [on(arn('eks', `cluster/${cluster}`))],
    'events:PutEvents': [on(arn('events', 'event-bus/default'), { 'events:source': ['imds-rollout'] })],
    's3:GetObject': [on(`${bucket}/any`)],
    's3:ListBucket': [on(bucket)],
    's3:PutObject': [on(`${bucket}/any`)],
    'ssm:GetParameter': [record],
    'ssm:GetParameterHistory': [on(arn('ssm', `parameter${ParameterPrefix}any/imds_http_tokens`))],
    'ssm:GetParametersByPath': [
      on(arn('ssm', `parameter${ParameterPrefix}any`)),
      on(arn('ssm', `parameter${RecordPrefix.slice(0, -1)}`)),
    ],
    'ssm:PutParameter': [record],
    'states:DescribeExecution': [on(arn('states', `execution:${machine}:any`))],
    'states:GetExecutionHistory': [on(arn('states', `execution:${machine}:any`))],
    'states:ListExecutions': [workflow],
    'states:SendTaskSuccess': [workflow],
    'states:StartExecution': [workflow],
  };
  const { TokenPrefix } = outputs;
  const former = memory('approval-token');
  const tokens = TokenPrefix === undefined ? [] : [on(arn('ssm', `parameter${TokenPrefix}any`))];
  /** What some functions need beside it, or in its place. */
  const special: Record<string, Record<string, On[]>> = {
    plan: { 'ssm:GetParameter': [record, memory('approval')] },
    reconcile: { 'ssm:GetParameter': [record, memory('approval')] },
    approve: {
      'ssm:GetParameter': [memory('registration'), memory('approval'), former, ...tokens],
      'ssm:PutParameter': [memory('approval'), ...tokens],
      'ssm:DeleteParameter': [former, ...tokens],
    },
  };
  return (action) => {
    const found = special[name]?.[action] ?? known[action];
    if (found === undefined)
      throw new Error(`on what ${action} is needed is not said in permission-checks.ts`);
    return found;
  };
}

/** The questions that IAM is asked about the function of a name: one a resource. */
export function wantedBy(name: string, actions: readonly string[], outputs: Outputs): Wanted[] {
  const resources = resourcesOf(outputs, name);
  const each = actions.flatMap((action) => resources(action).map((on) => ({ action, on })));
  return [...Map.groupBy(each, ({ on }) => JSON.stringify(on)).values()].map((alike) => ({
    resource: alike[0]?.on.resource ?? '*',
    context: alike[0]?.on.context ?? {},
    actions: alike.map(({ action }) => action),
  }));
}

const UNTOLD = 'permissions of the functions';

/** One check a function; a single one where it cannot be told of any. */
export async function permissionChecks(
  deployment: Pick<Deployment, 'outputs' | 'permissions'>,
): Promise<Check[]> {
  const { FunctionRoles: roles } = deployment.outputs;
  if (roles === undefined) {
    return [
      {
        name: UNTOLD,
        ...unknown(
          'the stack does not say which role is whose: it is of an older version',
          'Deploy again (docs/deploy.md)',
        ),
      },
    ];
  }
  const functions = [...actionsByFunction()];
  const checks = await pMap(
    functions,
    ([name, actions]) =>
      check(`permissions of ${name}`, () => permissionFinding(deployment, name, roles.get(name), actions)),
    { concurrency: AT_ONCE },
  );
  const [untold] = checks.filter(({ state }) => state === 'unknown');
  // Whoever may not ask about one role may not ask about any.
  return untold !== undefined && checks.every(({ state }) => state === 'unknown')
    ? [{ ...untold, name: UNTOLD }]
    : checks;
}

async function permissionFinding(
  { outputs, permissions }: Pick<Deployment, 'outputs' | 'permissions'>,
  of: string,
  role: string | undefined,
  actions: readonly string[],
): Promise<Finding> {
  if (role === undefined) return problem('the stack has no such function', 'Deploy again (docs/deploy.md)');
  const refused: Refused[] = [];
  try {
    for (const wanted of wantedBy(of, actions, outputs))
      refused.push(...(await permissions.refused(role, wanted)));
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    return unknown(
      `missing permission iam:SimulatePrincipalPolicy: ${error.message}`,
      'Allow it to these credentials on the roles of the functions; the first execution shows what is missing as well',
    );
  }
  const name = role.slice(role.lastIndexOf('/') + 1);
  if (refused.length === 0) return ok(`${name} may do all ${String(actions.length)} things that it calls`);
  const byPeople = refused.some(({ by }) => by !== 'the role’s policies');
  return problem(
    refused.map(({ action, resource, by }) => `${name} may not ${action} on ${resource}: ${by}`).join('; '),
    byPeople
      ? 'Have whoever keeps that policy except the role'
      : 'Deploy again, which puts the role’s own policies back (docs/permissions.md)',
  );
}
