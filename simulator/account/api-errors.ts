/** What an API's own error codes become at a port, as the real adapters translate them (rollout/errors.ts). */
import {
  ConflictError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  RolloutError,
  TransientError,
} from '../../rollout/errors.ts';

/** Codes of AWS's common errors, EC2's error list and Kubernetes' status reasons; the first that matches counts. */
const kinds: [RegExp, new (message: string, options?: ErrorOptions) => Error][] = [
  [/Throttl|^RequestLimitExceeded$|^SlowDown$|^TooMany|^Http429$/, TransientError],
  [/^(Request|Server)?Time(d?Out|out)|^(ETIMEDOUT|ECONN|ENOTFOUND|EPIPE)|^NetworkingError$/, TransientError],
  [/^(Internal|ServerInternal|Service.?Unavailable|Unavailable)|^Expired$|^Http(410|5\d\d)$/, TransientError],
  [
    /^AccessDenied|^UnauthorizedOperation$|^AuthFailure$|^(Forbidden|Unauthorized|Http40[13])$/,
    ForbiddenError,
  ],
  [
    /AuthorizationError$|^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch)/,
    ForbiddenError,
  ],
  [/NotFound|DoesNotExist$|^NoSuch|^IncorrectInstanceState$|^TaskTimedOut$|^Http404$/, NotFoundError],
  [
    /^(Conflict|AlreadyExists|ConflictException|ResourceInUseException|ExecutionAlreadyExists|Http409)$/,
    ConflictError,
  ],
  [/^(UnsupportedOperation|Invalid|Malformed|Validation|Missing|BadRequest|Http4(00|13|22))/, InvalidError],
];

const throttles = /Throttl|RequestLimitExceeded|TooManyRequests|Http429/i;

/**
 * The error of a port with the API's own as its cause, whose name is the code. test/contract/errors.test.ts holds the
 * adapters and this to each other.
 */
export function apiError(code: string, message: string): Error {
  const own = new Error(message);
  own.name = code;
  const kind = kinds.find(([codes]) => codes.test(code));
  return new (kind?.[1] ?? RolloutError)(`${code}: ${message}`, { cause: own });
}

/** The API's own code where there is one, else the error's name. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  return error.cause instanceof Error ? error.cause.name : error.name;
}

export function isThrottle(code: string): boolean {
  return throttles.test(code);
}
