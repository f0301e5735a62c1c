/** What an API's own error codes become at a port, as the real adapters translate them (rollout/errors.ts). */
import {
  ConflictError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  TransientError,
} from '../../rollout/errors.ts';

/** Codes of AWS's common errors, EC2's error list and Kubernetes' status reasons. */
const kinds: [RegExp, new (message: string, options?: ErrorOptions) => Error][] = [
  [
    /^(AccessDenied.*|UnauthorizedOperation|Forbidden|Unauthorized|.*AuthorizationError|Http40[13])$/,
    ForbiddenError,
  ],
  [/^(Conflict|AlreadyExists|ConflictException|Http409)$/, ConflictError],
  [/(NotFound|^IncorrectInstanceState$|^Http404$)/, NotFoundError],
  [/^(UnsupportedOperation|Invalid.*|ValidationException|ValidationError|Http422)$/, InvalidError],
  [
    /(Throttl|RequestLimitExceeded|TooManyRequests|Timeout|TimedOut|ETIMEDOUT|ECONN|ENOTFOUND|EPIPE)/i,
    TransientError,
  ],
  [
    /^(Internal.*|ServerTimeout|SlowDown|Service.?Unavailable.*|Unavailable|NetworkingError|Http(429|5\d\d))$/,
    TransientError,
  ],
];

const throttles = /Throttl|RequestLimitExceeded|TooManyRequests|Http429/i;

/**
 * The error of a port with the API's own as its cause, whose name is the code. A code that nobody translates passes as
 * it is, as it would through an adapter.
 */
export function apiError(code: string, message: string): Error {
  const own = new Error(message);
  own.name = code;
  const kind = kinds.find(([codes]) => codes.test(code));
  return kind ? new kind[1](`${code}: ${message}`, { cause: own }) : own;
}

/** The API's own code where there is one, else the error's name. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  return error.cause instanceof Error ? error.cause.name : error.name;
}

export function isThrottle(code: string): boolean {
  return throttles.test(code);
}
