/** Plays a scenario's timeline: what people and accidents do, each at its moment. */
import { decisionAnswerSchema } from '../../rollout/decide.ts';
import { NotFoundError, RolloutError } from '../../rollout/errors.ts';
import { AWAITED } from '../../rollout/notice.ts';
import { retryRollout } from '../../rollout/retry.ts';
import type { ScenarioAction, ScenarioCommand } from '../scenario/scenario.ts';
import type { EventFate } from '../account/event-bus.ts';
import type { NoticeBoard } from '../account/storage.ts';
import type { UndoneCommand } from './result.ts';
import { buildOf, type World } from './world.ts';

/** Steers a rollout as the command line does, on the ports of the world. Resolves to why it did nothing, where it did. */
export type CommandHook = (command: ScenarioCommand, world: World) => Promise<string | undefined>;

/** What the product has of them. A refusal is met with a shrug, as at a terminal. */
const productCommands: CommandHook = async (action, { account, scenario }) => {
  const { command, by, reason } = action;
  try {
    if (command === 'retry') await retryRollout(account.ports, scenario.rack);
    if (command !== 'approve' && command !== 'reject') return undefined;
    const decision = command === 'approve' ? 'approved' : 'rejected';
    const hash = hashMeant(account.notices.sent, action.hash);
    const claim = { rack: scenario.rack, hash, decision, reason } as const;
    return refusalIn(await account.decide(by ?? undefined, claim));
  } catch (error) {
    if (error instanceof RolloutError) return error.message;
    const failure = functionError(error);
    if (failure === undefined) throw error;
    return failure;
  }
};

function refusalIn(answer: unknown): string | undefined {
  const { data } = decisionAnswerSchema.safeParse(answer);
  return data !== undefined && 'refused' in data ? data.refused : undefined;
}

/** A function that failed says so with its error's name; the person tries again, or does not. */
function functionError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !error.message.startsWith('{"errorMessage"')) return undefined;
  const { errorMessage } = JSON.parse(error.message) as { errorMessage: string };
  return `the function approve failed: ${error.name}: ${errorMessage}`;
}

/** Told by the notices, which is how people hear of it. Where nothing was asked, a hash that nobody knows. */
function hashMeant(sent: NoticeBoard['sent'], meant: string): string {
  const asked = sent.filter(({ type }) => type === AWAITED);
  const notice = meant === 'first' ? asked.at(0) : meant === 'awaited' ? asked.at(-1) : undefined;
  if (meant !== 'first' && meant !== 'awaited') return meant;
  return typeof notice?.detail['hash'] === 'string' ? notice.detail['hash'] : '000000000000';
}

export interface Timeline {
  /** Whether every entry has been played. */
  played(): boolean;
  /** The commands that did nothing so far, in their order. */
  undone: readonly UndoneCommand[];
}

export function startTimeline(world: World, commands: CommandHook = productCommands): Timeline {
  const { clock, scenario } = world;
  let left = scenario.timeline.length;
  const undone: UndoneCommand[] = [];
  /** Waits for the next set or unset. */
  let fate: EventFate | undefined;

  const withFate = (write: () => void): void => {
    world.account.eventBus.withFate(fate, write);
    fate = undefined;
  };

  const note = async (action: ScenarioCommand): Promise<void> => {
    const at = clock.now().toISOString();
    const why = await commands(action, world);
    if (why !== undefined) undone.push({ at, command: action.command, why });
  };

  const play = (action: ScenarioAction): void => {
    const { account, cluster } = world;
    switch (action.kind) {
      case 'set':
        withFate(() => {
          for (const [key, { value, type }] of Object.entries(action.parameters)) {
            account.parameterStore.set(scenario.rack, key, value, { type });
          }
        });
        break;
      case 'unset':
        withFate(() => {
          for (const key of action.keys) account.parameterStore.unset(scenario.rack, key);
        });
        break;
      case 'event':
        fate = action.fate === 'late' ? { fate: 'late', by: action.by } : { fate: action.fate };
        break;
      case 'build':
        cluster.addBuild(buildOf(action.build));
        break;
      case 'editClass':
        cluster.editClass(action.class, action.manager, action.options);
        break;
      case 'modifyInstance':
        account.ec2.modifyByHand(instanceOf(world, action.node), action.options);
        break;
      case 'command':
        void note(action);
        break;
      case 'stopExecution':
        stopLast(world);
        break;
      case 'crash':
        account.lambda.crashNext(action.function, action.when);
        break;
      case 'stopKarpenter':
        cluster.stopKarpenter(action.for);
        break;
      case 'upgradeHashVersion':
        cluster.upgradeHashVersion();
        break;
      case 'removeNode':
        cluster.removeNode(action.node);
        break;
      case 'nodeNotReady':
        cluster.nodeNotReady(action.node);
        break;
      case 'interrupt':
        cluster.interrupt(action.node);
        break;
      case 'removeClass':
        cluster.removeClass(action.class);
        break;
      case 'makeClass':
        cluster.makeClass(action.class, action.spec);
        break;
      case 'removePool':
        cluster.removePool(action.pool);
        break;
      case 'editPool':
        cluster.editPool(action.pool, action.class);
        break;
      case 'register':
        world.register();
        break;
    }
  };

  // Timers of one moment run in the order in which they are set: entries of one moment play as written.
  for (const { at, action } of scenario.timeline) {
    clock.after(at, () => {
      left -= 1;
      try {
        play(action);
      } catch (error) {
        // A person who meets a refusal (the parameter or the node is gone by then) shrugs; a mistake of ours must show.
        if (!(error instanceof RolloutError)) throw error;
      }
    });
  }
  return { played: () => left === 0, undone };
}

/** The instance behind a node's name. */
function instanceOf({ cluster }: World, node: string): string {
  const providerId = cluster.objects('Node').find(({ metadata }) => metadata.name === node)?.spec.providerID;
  if (providerId === undefined) throw new NotFoundError(`there is no node ${node}`);
  return providerId.slice(providerId.lastIndexOf('/') + 1);
}

/** Somebody presses Stop in the console, on the execution on top of the list. */
function stopLast({ account, executions }: World): void {
  const last = executions.findLast((execution) => execution.status === 'RUNNING');
  if (last) account.stepFunctions.stop(last.name);
}
