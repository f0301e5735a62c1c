/** The environment of the functions: a bad one names the variable, its value and what is accepted. */
import { describe, expect, it } from 'vitest';
import { createHandler as parameterChanged } from '../../functions/parameter-changed/create-handler.ts';
import {
  approveEnvironment,
  EnvironmentError,
  parseEnvironment,
  rolloutEnvironment,
} from '../../functions/shared/environment.ts';
import type { Ports } from '../../rollout/ports.ts';

describe('a bad environment fails by name when the handler is built', () => {
  const ports = {} as Ports;

  it.each(['racks/', '/racks', '/', '', '/racks//', '/räcks/', '/racks/ '])(
    'PARAMETER_PREFIX %j',
    (value) => {
      expect(() => parameterChanged(ports, { PARAMETER_PREFIX: value })).toThrow(EnvironmentError);
      expect(() => parameterChanged(ports, { PARAMETER_PREFIX: value })).toThrow(
        `PARAMETER_PREFIX is ${JSON.stringify(value)}: accepted is a path that begins and ends with /, e.g. /racks/`,
      );
    },
  );

  it('PARAMETER_PREFIX not set', () => {
    expect(() => parameterChanged(ports, {})).toThrow(
      'PARAMETER_PREFIX is not set: accepted is a path that begins and ends with /, e.g. /racks/',
    );
  });

  it.each(['/racks/', '/a/b/', '/a-b_c.d/'])('and a good one does not: %s', (value) => {
    expect(() => parameterChanged(ports, { PARAMETER_PREFIX: value })).not.toThrow();
  });
});

describe('the environment of every other function', () => {
  const good = {
    PARAMETER_PREFIX: '/racks/',
    STATE_MACHINE_ARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout',
    RECORD_PREFIX: '/imds-rollout/racks/',
    REPORT_BUCKET: 'imds-rollout-reports',
  };

  it('is taken as it is, without what is not of it', () => {
    expect(parseEnvironment(rolloutEnvironment, { ...good, PATH: '/bin' })).toEqual(good);
  });

  it.each<[keyof typeof good, string | undefined, string]>([
    ['STATE_MACHINE_ARN', 'imds-rollout', "accepted is a state machine's ARN"],
    ['STATE_MACHINE_ARN', undefined, "accepted is a state machine's ARN"],
    ['RECORD_PREFIX', 'racks', 'accepted is a path that begins and ends with /, e.g. /racks/'],
    ['REPORT_BUCKET', 'a/b', "accepted is a bucket's name"],
    ['REPORT_BUCKET', '', "accepted is a bucket's name"],
  ])('%s %j', (name, value, accepted) => {
    const said = value === undefined ? 'not set' : JSON.stringify(value);
    expect(() => parseEnvironment(rolloutEnvironment, { ...good, [name]: value })).toThrow(
      `${name} is ${said}: ${accepted}`,
    );
  });

  it('names everything that is wrong at once', () => {
    expect(() => parseEnvironment(rolloutEnvironment, {})).toThrow(
      /PARAMETER_PREFIX is not set.*STATE_MACHINE_ARN is not set.*RECORD_PREFIX is not set.*REPORT_BUCKET is not set/,
    );
  });
});

describe('the environment of approve', () => {
  const good = {
    STATE_MACHINE_ARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout',
    RECORD_PREFIX: '/imds-rollout/racks/',
    TOKEN_PREFIX: '/imds-rollout/approval-tokens/',
  };

  it('is what it needs and nothing more', () => {
    expect(parseEnvironment(approveEnvironment, { ...good, REPORT_BUCKET: 'reports' })).toEqual(good);
  });

  it.each(['/imds-rollout/racks/', '/imds-rollout/racks/tokens/'])(
    'is refused where whoever may read records may read tokens: %s',
    (TOKEN_PREFIX) => {
      expect(() => parseEnvironment(approveEnvironment, { ...good, TOKEN_PREFIX })).toThrow(
        `TOKEN_PREFIX is ${JSON.stringify(TOKEN_PREFIX)}: accepted is a path outside of RECORD_PREFIX`,
      );
    },
  );
});
