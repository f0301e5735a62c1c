/** The errors that cross a port. Each message says what, where and what to do. */

/** Base of every error that this service throws on purpose. */
export class RolloutError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Throttled, timed out, 5xx, connection lost: a later look may succeed. Never ends a rollout by itself. */
export class TransientError extends RolloutError {}

/** The object changed since it was read (409): read again, decide again. */
export class ConflictError extends RolloutError {}

/** The object to write is gone (404, InvalidInstanceID.NotFound). */
export class NotFoundError extends RolloutError {}

/** Not allowed (403, UnauthorizedOperation, AccessDenied): names the action and whose role. */
export class ForbiddenError extends RolloutError {}

/** Refused for its content (422, UnsupportedOperation, strict field validation). */
export class InvalidError extends RolloutError {}
