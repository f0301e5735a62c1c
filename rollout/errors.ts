/** The errors that cross a port. Each message says what, where and what to do. */

/** Base of every error that this service throws on purpose. */
export class RolloutError extends Error {
  /** Written out in each class: the workflow's Retry goes by it, and a minified bundle renames classes. */
  override name = 'RolloutError';
}

/** Throttled, timed out, 5xx, connection lost: a later look may succeed. Never ends a rollout by itself. */
export class TransientError extends RolloutError {
  override name = 'TransientError';
}

/** The object changed since it was read (409): read again, decide again. */
export class ConflictError extends RolloutError {
  override name = 'ConflictError';
}

/** The object to write is gone (404, InvalidInstanceID.NotFound). */
export class NotFoundError extends RolloutError {
  override name = 'NotFoundError';
}

/** Not allowed (403, UnauthorizedOperation, AccessDenied): names the action and whose role. */
export class ForbiddenError extends RolloutError {
  override name = 'ForbiddenError';
}

/** Refused for its content (422, UnsupportedOperation, strict field validation). */
export class InvalidError extends RolloutError {
  override name = 'InvalidError';
}
