/**
 * The AWS SDK's errors in the service's own words. EC2's models declare none, so what counts is the error's name:
 * the lists are AWS's common errors, EC2's error codes, and the SDK's own of throttles and time-outs
 * (@smithy/core, retry/service-error-classification).
 */
import {
  ConflictError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  RolloutError,
  TransientError,
} from '../rollout/errors.ts';

interface AwsError extends Error {
  /** Of Node where the connection failed, e.g. ECONNRESET. */
  code?: string;
  $metadata?: { httpStatusCode?: number };
  $retryable?: { throttling?: boolean };
}

type Kind = new (message: string, options?: ErrorOptions) => RolloutError;

/** The first that matches counts. */
const kinds: readonly [RegExp, Kind][] = [
  [
    /Throttl|^RequestLimitExceeded$|^SlowDown$|^TooMany(Requests|Updates)|^PriorRequestNotComplete$/,
    TransientError,
  ],
  [/^(TimeoutError|RequestTimeout(Exception)?|ConcurrentModificationException)$/, TransientError],
  [/^(Internal|ServerInternal|ServerException|Service-?Unavailable|Unavailable)/, TransientError],
  [/^AccessDenied|^UnauthorizedOperation$|^AuthFailure$|^Forbidden$/, ForbiddenError],
  // Credentials that are no (longer) any.
  [
    /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|CredentialsProviderError)/,
    ForbiddenError,
  ],
  // EC2 cannot change an instance that is on its way out: for a rollout it is gone.
  // A task token whose task does not wait any more is gone likewise.
  [/NotFound|DoesNotExist$|^NoSuch|^IncorrectInstanceState$|^TaskTimedOut$/, NotFoundError],
  [/^(ConflictException|ResourceInUseException|ExecutionAlreadyExists)$/, ConflictError],
  [
    /^(UnsupportedOperation|Unsupported$|Invalid|Malformed|Validation|Missing|Parameter(Max|Pattern|Limit))/,
    InvalidError,
  ],
];

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_SSL|ERR_PROXY)/;

/** Runs calls of one AWS API; what they throw comes out as one of errors.ts, the original as its cause. */
export async function calling<T>(api: string, target: string, calls: () => Promise<T>): Promise<T> {
  try {
    return await calls();
  } catch (error) {
    throw translated(error, api, target);
  }
}

function translated(error: unknown, api: string, target: string): unknown {
  if (!(error instanceof Error) || error instanceof RolloutError) return error;
  const kind = kindOf(error);
  // Not the neighbour's: a mistake of our own stays what it is.
  if (kind === undefined) return error;
  return new kind(
    kind === ForbiddenError ? refusal(error, api, target) : `${api} of ${target}: ${said(error)}`,
    {
      cause: error,
    },
  );
}

function kindOf(error: AwsError): Kind | undefined {
  const byName = kinds.find(([names]) => names.test(error.name))?.[1];
  if (byName !== undefined) return byName;
  if (NETWORK.test(error.code ?? '')) return TransientError;
  if (error.$metadata === undefined) return undefined;
  const status = error.$metadata.httpStatusCode ?? 0;
  if (status === 429 || status >= 500 || error.$retryable?.throttling === true) return TransientError;
  if (status === 401 || status === 403) return ForbiddenError;
  return RolloutError;
}

/** A failed part of a batch answers with a code instead of throwing. */
export function errorOfCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { name: code, $metadata: {} });
}

function said({ name, message }: Error): string {
  // EC2 appends an encoded text of some hundred characters, which only `aws sts decode-authorization-message` reads.
  const readable = message.replace(/\s*Encoded authorization failure message:.*/s, '');
  return `${name}: ${readable}`;
}

/** AWS says who may not do what, and sometimes why, in one sentence of a fixed form. */
const SENTENCE = /User: (?<user>\S+) is not authorized to perform: (?<action>[\w:-]+)/;

function refusal(error: Error, api: string, target: string): string {
  const { user, action } = SENTENCE.exec(error.message)?.groups ?? {};
  if (user === undefined || action === undefined) {
    return `not allowed: ${api} of ${target}; allow it to the role that this runs as (${said(error)})`;
  }
  return `${whose(user)} may not ${action} (${target}): allow it there (${said(error)})`;
}

/** `arn:aws:sts::<account>:assumed-role/<role>/<session>` is a role to whoever has to mend it. */
function whose(arn: string): string {
  const role = /:assumed-role\/([^/]+)\//.exec(arn)?.[1];
  return role === undefined ? arn : `role ${role}`;
}

/** The answer to a call; undefined where there is none of that name. */
export async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
