/** What went wrong between this machine and the account, for the person at it: one line what, one line what to do. */
import { KubernetesStatus } from '../../adapters/cluster/errors.ts';
import { ForbiddenError, RolloutError, TransientError } from '../../rollout/errors.ts';
import { CommandFailure } from '../failure.ts';

interface Advice {
  what: string;
  todo: string;
}

/** An error with everything that it was caused by, the nearest first. */
function chain(error: unknown): (Error & { code?: unknown })[] {
  const found: Error[] = [];
  for (let at = error; at instanceof Error && found.length < 10; at = at.cause) found.push(at);
  return found;
}

const CREDENTIALS = /^(CredentialsProviderError|TokenProviderError)$/;
const STALE = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|AuthFailure)/;
const CERTIFICATE = /CERT|^UNABLE_TO_|^ERR_TLS/;
const CLUSTER = /(?:in )?cluster (\S+?):? /;

/**
 * Turns what ports and clients throw into a CommandFailure; anything else is a fault of ours and stays what it is.
 */
export function explain(error: unknown): unknown {
  if (error instanceof CommandFailure) return error;
  const advice = adviceOn(error);
  return advice === undefined ? error : new CommandFailure(`${advice.what}\n${advice.todo}`);
}

/** undefined for what is not known to come from outside. */
export function adviceOn(error: unknown): Advice | undefined {
  const errors = chain(error);
  return (
    onCredentials(errors) ??
    onCluster(errors) ??
    onMissing(errors) ??
    (error instanceof RolloutError ? onRest(error) : undefined)
  );
}

function onCredentials(errors: readonly Error[]): Advice | undefined {
  const none = errors.find(({ name }) => CREDENTIALS.test(name));
  if (none !== undefined) {
    return {
      what: `there are no AWS credentials: ${oneLine(none.message)}`,
      todo: 'Sign in (for example `aws sso login`), give --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    };
  }
  const stale = errors.find(({ name }) => STALE.test(name));
  if (stale !== undefined) {
    return {
      what: `AWS does not accept the credentials: ${stale.name}: ${oneLine(stale.message)}`,
      todo: 'Sign in again; --profile chooses others',
    };
  }
  const region = errors.find(({ message }) => message.startsWith('Region not accepted'));
  if (region !== undefined) {
    return {
      what: `the Region is none: ${oneLine(region.message)}`,
      todo: 'Give one as AWS writes it, for example eu-central-1, with --region, AWS_REGION or the region of the profile',
    };
  }
  return errors.some(({ message }) => message === 'Region is missing')
    ? {
        what: 'no Region is given',
        todo: 'Give --region, or set AWS_REGION or the region of the profile; without an account, `plan`, `status`, `params` and `report` answer from a scenario with --scenario FILE',
      }
    : undefined;
}

function onCluster(errors: readonly (Error & { code?: unknown })[]): Advice | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const cluster = CLUSTER.exec(`${first.message} `)?.[1];
  const status = errors.find((each) => each instanceof KubernetesStatus);
  if (status?.code === 401) {
    return {
      what: `cluster ${cluster ?? ''} does not know you (401): the token of these credentials was refused`,
      todo: 'Have somebody make an access entry for your IAM role or user (`aws eks create-access-entry`), or choose other credentials with --profile',
    };
  }
  if (status?.code === 403) {
    return {
      what: `you ${first.message}`,
      todo: 'Registering and removing a rack needs a cluster administrator (access policy AmazonEKSClusterAdminPolicy); looking needs the verbs of infra/kubernetes/rbac.yaml',
    };
  }
  if (status !== undefined || cluster === undefined || !(first instanceof TransientError)) return undefined;
  const certificate = errors.find(({ code }) => typeof code === 'string' && CERTIFICATE.test(code));
  if (certificate !== undefined) {
    return {
      what: `cluster ${cluster} answers with a certificate that its own authority has not signed: ${oneLine(certificate.message)}`,
      todo: 'Something stands in between, a proxy for example, or the cluster was made again meanwhile: go there directly, and compare `aws eks describe-cluster`',
    };
  }
  return {
    what: `cluster ${cluster} cannot be reached: ${oneLine(first.message)}`,
    todo: "Run this from where the cluster's endpoint can be reached (a private endpoint: inside its VPC), or try again",
  };
}

const GONE: readonly [RegExp, string][] = [
  [
    /^NoSuchBucket$/,
    'The bucket of reports is gone: deploy again (docs/deploy.md); reports of before are lost with it',
  ],
  [/^StateMachineDoesNotExist$/, 'The workflow is gone: deploy again (docs/deploy.md)'],
];

function onMissing(errors: readonly Error[]): Advice | undefined {
  for (const { name } of errors) {
    const todo = GONE.find(([names]) => names.test(name))?.[1];
    if (todo !== undefined) return { what: oneLine(errors[0]?.message ?? name), todo };
  }
  return undefined;
}

function onRest(error: RolloutError): Advice {
  if (error instanceof TransientError) {
    return {
      what: oneLine(error.message),
      todo: 'Try again; if it stays, look for the way there (network, proxy, Region)',
    };
  }
  return {
    what: oneLine(error.message),
    todo:
      error instanceof ForbiddenError
        ? 'Allow it to these credentials, or choose others with --profile (docs/permissions.md)'
        : '`imds-rollout doctor` names what is not as it should be',
  };
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();
