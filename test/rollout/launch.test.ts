/** Which launches fail for what a rollout changed. */
import { expect, it } from 'vitest';
import { launchFailure } from '../../rollout/launch.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import { buildNode, condition } from './given.ts';

const launching = (message: string, status: 'Unknown' | 'True' = 'Unknown'): BuildNode => {
  const node = buildNode('new', { registered: false, launched: false });
  node.claim?.status?.conditions?.push(condition('Launched', status, { reason: 'LaunchFailed', message }));
  return node;
};

it.each([
  'creating instance, UnauthorizedOperation: You are not authorized to perform this operation',
  'creating instance, with fleet error(s), UnauthorizedOperation: denied by a service control policy',
  'creating instance, AccessDenied: ec2:CreateLaunchTemplate, https response error StatusCode: 403',
  'getting launch template configs, creating launch template, InvalidParameterValue: HttpPutResponseHopLimit',
  'creating instance, InvalidLaunchTemplateId.VersionNotFound: the launch template does not exist',
  'creating instance, HttpTokensEnforced: HttpTokens must be required',
])('fails for it: %s', (message) => {
  expect(launchFailure({ nodes: [buildNode('old'), launching(message)] })).toBe(
    `NodeClaim claim-of-new cannot be launched: ${message}`,
  );
});

it.each([
  'creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: none left',
  'creating instance, getting launch template configs, creating launch template, operation error EC2: CreateLaunchTemplate, https response error StatusCode: 503, RequestLimitExceeded: Request limit exceeded',
  'creating launch template, operation error EC2: CreateLaunchTemplate, StatusCode: 500, InternalError: try again',
  'describing launch templates, context deadline exceeded',
  'creating instance, VcpuLimitExceeded: you have requested more vCPU capacity',
  '',
])('fails for something that passes: %s', (message) => {
  expect(launchFailure({ nodes: [launching(message)] })).toBeUndefined();
});

it('does not fail once it was launched after all', () => {
  expect(launchFailure({ nodes: [launching('UnauthorizedOperation', 'True')] })).toBeUndefined();
});
