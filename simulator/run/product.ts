/** The product as deployed: every function's createHandler and the workflow's definition, as they are in the tree. */
import { readFile } from 'node:fs/promises';
import { parameterPrefix, type CreateHandler } from '../account/account.ts';
import type { WrittenDefinition } from '../account/definition.ts';
import type { FunctionName } from '../scenario/names.ts';
import type { Product } from './world.ts';

interface FunctionModule {
  createHandler: CreateHandler;
}

const modules: Record<FunctionName, () => Promise<FunctionModule>> = {
  'parameter-changed': () => import('../../functions/parameter-changed/create-handler.ts'),
  reconcile: () => import('../../functions/reconcile/create-handler.ts'),
  'rollout-ended': () => import('../../functions/rollout-ended/create-handler.ts'),
  plan: () => import('../../functions/plan/create-handler.ts'),
  approve: () => import('../../functions/approve/create-handler.ts'),
  'hold-and-patch': () => import('../../functions/hold-and-patch/create-handler.ts'),
  observe: () => import('../../functions/observe/create-handler.ts'),
  'modify-stragglers': () => import('../../functions/modify-stragglers/create-handler.ts'),
  'take-back': () => import('../../functions/take-back/create-handler.ts'),
  conclude: () => import('../../functions/conclude/create-handler.ts'),
};

/** Loaded when a run needs them and not before: Powertools looks at the environment as it is made. */
export async function loadProduct(): Promise<Product> {
  const definition = new URL('../../statemachine/rollout.asl.json', import.meta.url);
  const [text, functions] = await Promise.all([
    readFile(definition, 'utf8'),
    Promise.all(
      Object.entries(modules).map(async ([name, load]): Promise<[string, CreateHandler]> => {
        const { createHandler } = await load();
        return [name, createHandler];
      }),
    ),
  ]);
  return {
    definition: JSON.parse(text) as WrittenDefinition,
    functions: Object.fromEntries(functions),
    environment: { PARAMETER_PREFIX: parameterPrefix },
  };
}
