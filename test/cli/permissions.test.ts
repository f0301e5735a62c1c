/** What IAM's simulation of a role's policies is asked and what its answers mean; moto has no such API. */
import { IAMClient, SimulatePrincipalPolicyCommand } from '@aws-sdk/client-iam';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, expect, it } from 'vitest';
import { createPermissions, type Refused } from '../../cli/account/permissions.ts';
import { ForbiddenError } from '../../rollout/errors.ts';

const iam = new IAMClient({ region: 'eu-west-1' });
const mock = mockClient(iam);
afterEach(() => mock.reset());

const role = 'arn:aws:iam::123456789012:role/imds-rollout-PlanRole';
const wanted = {
  actions: ['ssm:GetParameter', 'ssm:PutParameter'],
  resource: 'arn:aws:ssm:eu-west-1:123456789012:parameter/imds-rollout/racks/any/record',
  context: { 'events:source': ['imds-rollout'], 'aws:ResourceTag/a': 'b' },
};

it('asks about all actions on the resource at once, and reads all pages', async () => {
  mock
    .on(SimulatePrincipalPolicyCommand)
    .resolvesOnce({
      EvaluationResults: [{ EvalActionName: 'ssm:GetParameter', EvalDecision: 'allowed' }],
      IsTruncated: true,
      Marker: 'more',
    })
    .resolvesOnce({ EvaluationResults: [{ EvalActionName: 'ssm:PutParameter', EvalDecision: 'allowed' }] });
  expect(await createPermissions(iam).refused(role, wanted)).toEqual([]);
  expect(mock).toHaveReceivedNthCommandWith(SimulatePrincipalPolicyCommand, 1, {
    PolicySourceArn: role,
    ActionNames: wanted.actions,
    ResourceArns: [wanted.resource],
    ContextEntries: [
      { ContextKeyName: 'events:source', ContextKeyType: 'stringList', ContextKeyValues: ['imds-rollout'] },
      { ContextKeyName: 'aws:ResourceTag/a', ContextKeyType: 'string', ContextKeyValues: ['b'] },
    ],
  });
  expect(mock).toHaveReceivedNthCommandWith(SimulatePrincipalPolicyCommand, 2, { Marker: 'more' });
});

it.each<[Refused['by'], object]>([
  ['the role’s policies', { EvalDecision: 'implicitDeny' }],
  ['an explicit deny', { EvalDecision: 'explicitDeny' }],
  [
    'an organisation policy',
    { EvalDecision: 'implicitDeny', OrganizationsDecisionDetail: { AllowedByOrganizations: false } },
  ],
  [
    'a permissions boundary',
    {
      EvalDecision: 'implicitDeny',
      PermissionsBoundaryDecisionDetail: { AllowedByPermissionsBoundary: false },
    },
  ],
])('names whose no it is: %s', async (by, result) => {
  mock.on(SimulatePrincipalPolicyCommand).resolves({
    EvaluationResults: [
      { EvalActionName: 'ssm:GetParameter', EvalDecision: 'allowed' },
      { EvalActionName: 'ssm:PutParameter', EvalDecision: 'implicitDeny', ...result },
    ],
  });
  const { resource } = wanted;
  expect(await createPermissions(iam).refused(role, wanted)).toEqual([
    { action: 'ssm:PutParameter', resource, by },
  ]);
});

it('takes what IAM does not say for refused', async () => {
  mock.on(SimulatePrincipalPolicyCommand).resolves({});
  expect(await createPermissions(iam).refused(role, wanted)).toHaveLength(2);
});

it('says who may not ask', async () => {
  mock
    .on(SimulatePrincipalPolicyCommand)
    .rejects(
      Object.assign(
        new Error('User: arn:aws:iam::1:user/me is not authorized to perform: iam:SimulatePrincipalPolicy'),
        { name: 'AccessDenied', $metadata: {} },
      ),
    );
  const asked = createPermissions(iam).refused(role, wanted);
  await expect(asked).rejects.toThrow(ForbiddenError);
  await expect(asked).rejects.toThrow(/^arn:aws:iam::1:user\/me may not iam:SimulatePrincipalPolicy/);
});
