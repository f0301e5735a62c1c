/** The product with every task run twice, for invariant 8: a run with it must break nothing and end the same. */
import type { CreateHandler } from '../account/account.ts';
import type { Product, World } from '../run/world.ts';
import { replay } from './twice-equals-once.ts';
import type { Violation } from './truth.ts';

/** The tasks of the workflow: what Step Functions may run again. */
const tasks: readonly string[] = [
  'plan',
  'hold-and-patch',
  'observe',
  'modify-stragglers',
  'take-back',
  'conclude',
];

export interface ReplayedProduct {
  product: Product;
  /** To be called with the world before anything runs in it. */
  watch(world: World): void;
  readonly violations: readonly Violation[];
}

export function replayedProduct(product: Product): ReplayedProduct {
  const violations: Violation[] = [];
  let watched: World | undefined;

  const twice =
    (name: string, create: CreateHandler): CreateHandler =>
    (ports, environment) => {
      const handler = create(ports, environment);
      return async (event, context) => {
        const copy = structuredClone(event);
        const answer = await handler(event, context);
        if (watched === undefined || !isFinished(name, answer)) return answer;
        const world = { now: () => watched?.clock.now() ?? new Date(), audit: watched.audit };
        violations.push(
          ...(await replay(world, {
            function: name,
            execution: executionOf(event),
            again: () => handler(copy, context),
          })),
        );
        return answer;
      };
    };

  return {
    product: {
      ...product,
      functions: Object.fromEntries(
        Object.entries(product.functions).map(([name, create]) => [
          name,
          tasks.includes(name) ? twice(name, create) : create,
        ]),
      ),
    },
    watch(world) {
      watched = world;
    },
    violations,
  };
}

/** A task that leaves something to be done says so by coming next itself, or by looking again at once. */
function isFinished(name: string, answer: unknown): boolean {
  const { next, lookAgainIn } = fieldsOf(answer);
  return next !== name && !(next === 'look' && lookAgainIn === 1);
}

function executionOf(event: unknown): string {
  const { execution } = fieldsOf(event);
  return typeof execution === 'string' ? execution : '';
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
