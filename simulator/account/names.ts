/** The account that is simulated, and the ARNs in it. */

export const account = '123456789012';
export const region = 'eu-west-1';

export function parameterArn(name: string): string {
  // The ARN hides the leading slash of a hierarchical name.
  return `arn:aws:ssm:${region}:${account}:parameter/${name.replace(/^\//, '')}`;
}

export const stateMachineName = 'imds-rollout';
export const stateMachineArn = `arn:aws:states:${region}:${account}:stateMachine:${stateMachineName}`;

export function executionArn(name: string): string {
  return `arn:aws:states:${region}:${account}:execution:${stateMachineName}:${name}`;
}

const functionPrefix = `arn:aws:lambda:${region}:${account}:function:imds-rollout-`;

export function functionArn(functionName: string): string {
  return `${functionPrefix}${functionName}`;
}

/** The folder below functions/ of a function's ARN. */
export function functionOf(arn: string): string {
  return arn.startsWith(functionPrefix) ? arn.slice(functionPrefix.length) : arn;
}

/** A UUID's form from chance, so that the same seed gives the same ids. */
export function uuid(chance: { next(): number }): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(chance.next() * 16).toString(16)).join('');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join('-');
}
