/** What the API server or the way to it refuses, in the service's own words. */
import {
  ConflictError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  RolloutError,
  TransientError,
} from '../../rollout/errors.ts';

/** What was asked of whom, e.g. `patch nodes build-1 in cluster demo`. */
export interface Request {
  cluster: string;
  verb: string;
  resource: string;
  name?: string;
}

/** The API server answered with something else than was asked for; its own words are in the message. */
export class KubernetesStatus extends Error {
  readonly code: number;
  /** Kubernetes' reason, e.g. `NotFound`, where it gave one. */
  readonly reason: string;

  constructor(code: number, body: string) {
    const { reason, message } = statusOf(body);
    super(message ?? body.slice(0, 500));
    this.name = reason ?? `Http${String(code)}`;
    this.code = code;
    this.reason = reason ?? '';
  }
}

/** By status code; 5xx apart. https://kubernetes.io/docs/reference/using-api/api-concepts/ */
const kinds = new Map<number, new (message: string, options?: ErrorOptions) => RolloutError>([
  // Strict field validation and undecodable values are 400 or 422, as the kind has it.
  [400, InvalidError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  // A list's continue token grew too old: the list has to be begun again.
  [410, TransientError],
  [413, InvalidError],
  [422, InvalidError],
  [429, TransientError],
]);

export function translated(error: unknown, request: Request): unknown {
  const what = [request.verb, request.resource, request.name].filter((word) => word !== undefined).join(' ');
  const where = `${what} in cluster ${request.cluster}`;
  if (error instanceof KubernetesStatus) {
    if (error.code === 401) {
      return new ForbiddenError(
        `cluster ${request.cluster} does not know the role that this runs as: \`imds-rollout rack add\` makes its access entry (${where}: 401)`,
        { cause: error },
      );
    }
    const kind = error.code >= 500 ? TransientError : (kinds.get(error.code) ?? RolloutError);
    const words = `${String(error.code)} ${error.message}`;
    return new kind(kind === ForbiddenError ? `may not ${where}: ${words}` : `${where}: ${words}`, {
      cause: error,
    });
  }
  if (error instanceof RolloutError || !(error instanceof Error)) return error;
  if (!isOfTheWay(error)) return error;
  return new TransientError(`${where}: ${wayTo(error)}`, { cause: error });
}

/** undici throws `TypeError: fetch failed` with what happened as its cause; AbortSignal.timeout a TimeoutError. */
function isOfTheWay(error: Error): boolean {
  return error.name === 'TimeoutError' || (error instanceof TypeError && error.cause instanceof Error);
}

function wayTo(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause && typeof cause.code === 'string' ? `${cause.code} ` : '';
  return `${code}${cause.message}`;
}

function statusOf(body: string): { reason?: string; message?: string } {
  try {
    const status: unknown = JSON.parse(body);
    if (typeof status !== 'object' || status === null) return {};
    return {
      ...('reason' in status && typeof status.reason === 'string' && { reason: status.reason }),
      ...('message' in status && typeof status.message === 'string' && { message: status.message }),
    };
  } catch {
    // A load balancer in between answers in HTML.
    return {};
  }
}
